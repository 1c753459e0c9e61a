"""What a product of the demo shop consists of. Prices are in 分, texts in English and Chinese."""

from dataclasses import dataclass

# Between the names of options, and between the choices of a variant.
SEPARATOR = " / "


@dataclass(frozen=True, slots=True)
class DemoCategory:
    """A category; `parent` is the slug of the one above it."""

    slug: str
    name: str
    name_zh: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class DemoValue:
    """One choice of an option, such as a colour."""

    name: str
    name_zh: str


@dataclass(frozen=True, slots=True)
class DemoOption:
    """What a buyer chooses, such as the colour, with the choices in the order in which a shop shows them."""

    name: str
    name_zh: str
    values: tuple[DemoValue, ...]


@dataclass(frozen=True, slots=True)
class DemoVariant:
    """What is sold and counted. `values`: the English names of its choices, in the order of the product's options."""

    sku: str
    price_minor: int
    stock: int
    weight_grams: int
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DemoPicture:
    """A drawing of our own. `file` is a path below shop/demo/pictures/; `alt` says what is to be seen."""

    file: str
    alt: str
    alt_zh: str


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """A product with at least one variant, of which the first is the cheapest, and at least one picture."""

    slug: str
    category: str
    name: str
    name_zh: str
    description: str
    description_zh: str
    variants: tuple[DemoVariant, ...]
    pictures: tuple[DemoPicture, ...]
    options: tuple[DemoOption, ...] = ()

    @property
    def option_names(self) -> str:
        """As the catalogue keeps them: Colour / Size."""
        return SEPARATOR.join(option.name for option in self.options)

    @property
    def option_names_zh(self) -> str:
        return SEPARATOR.join(option.name_zh for option in self.options)

    def values_zh(self, variant: DemoVariant) -> str:
        """The variant's choices in Chinese, as the catalogue keeps them: 本白 / S."""
        chosen = zip(self.options, variant.values, strict=True)
        return SEPARATOR.join(
            next(value.name_zh for value in option.values if value.name == name) for option, name in chosen
        )

    def values_en(self, variant: DemoVariant) -> str:
        return SEPARATOR.join(variant.values)


def colours(*names: tuple[str, str]) -> DemoOption:
    """The option of a colour, from pairs of an English and a Chinese name."""
    return DemoOption("Colour", "颜色", tuple(DemoValue(name, name_zh) for name, name_zh in names))


def sizes(*names: tuple[str, str]) -> DemoOption:
    return DemoOption("Size", "尺寸", tuple(DemoValue(name, name_zh) for name, name_zh in names))
