"""Thousands of products without pictures, for trying out long lists and the search."""

from collections.abc import Callable, Iterable

from django.db import transaction

from shop.demo.assortment import CATEGORIES
from shop.models import Category, Product, StockChange, Variant, write_entries
from shop.stock.movements import move

BATCH_SIZE = 1_000
# Of a product of a long list; nothing else begins so.
SLUG_BEGINNING = "many-"


def pairs(text: str) -> list[tuple[str, str]]:
    """English and Chinese: "oak:橡木 pencil_case:笔袋"."""
    found = (pair.partition(":") for pair in text.split())
    return [(english.replace("_", " "), chinese) for english, _colon, chinese in found]


# Names are combined from these, so that a search has many products to choose from.
MANNERS = pairs(
    "Plain:素雅 Sturdy:结实 Light:轻便 Folding:折叠 Handmade:手工 Small:小号 Large:大号 Travel:旅行 "
    "Everyday:日常 Festive:节庆 Classic:经典 New:新款"
)
MATERIALS = pairs(
    "bamboo:竹制 copper:铜制 linen:亚麻 walnut:胡桃木 porcelain:瓷 steel:钢制 leather:皮质 glass:玻璃 "
    "wool:羊毛 cork:软木 silk:真丝 oak:橡木"
)
THINGS = pairs(
    "tray:托盘 bowl:碗 cup:杯 kettle:水壶 lamp:灯 stool:凳 basket:篮 tablecloth:桌布 purse:钱包 "
    "backpack:背包 pencil_case:笔袋 clock:时钟 teapot:茶壶 coaster:杯垫 mirror:镜子 shelf:置物架 "
    "slippers:拖鞋 scarf:围巾"
)


def load_many(count: int, *, report_progress: Callable[[int, int], object] = lambda done, total: None) -> int:
    """Bring the number of such products to `count`. Returns how many were made."""
    below = Category.objects.filter(slug__in=[category.slug for category in CATEGORIES if category.parent])
    categories = list(below.order_by("position", "pk"))
    slugs = Product.objects.filter(slug__startswith=SLUG_BEGINNING).values_list("slug", flat=True)
    missing = max(count - len(slugs), 0)
    # Some may have been deleted since, so their number is not the next free one.
    start = number_after(slugs)
    for done in range(0, missing, BATCH_SIZE):
        done_then = min(done + BATCH_SIZE, missing)
        load_batch(range(start + done, start + done_then), categories)
        report_progress(done_then, missing)
    return missing


def number_after(names: Iterable[str]) -> int:
    """The number after the highest one that a name ends with, behind a hyphen; 0 if none does."""
    ends = (name.rpartition("-")[2] for name in names)
    return max((int(end) for end in ends if end.isascii() and end.isdigit()), default=-1) + 1


def load_batch(numbers: range, categories: list[Category]) -> None:
    with transaction.atomic():
        products = Product.objects.bulk_create(
            [product_of(number, categories[number % len(categories)]) for number in numbers]
        )
        variants = Variant.objects.bulk_create(
            Variant(product=product, sku=f"MANY-{number}", price_minor=price_minor_of(number), weight_grams=500)
            for number, product in zip(numbers, products, strict=True)
        )
        # Each tenth is sold out.
        units_of = {variant.pk: 20 for variant, number in zip(variants, numbers, strict=True) if number % 10}
        move(kind=StockChange.Kind.CHANGED, units_of=units_of, reason="demo data")
        write_entries(Product.objects.filter(pk__in=[product.pk for product in products]))


def product_of(number: int, category: Category) -> Product:
    (manner, manner_zh), (material, material_zh), (thing, thing_zh) = (
        MANNERS[number % len(MANNERS)],
        MATERIALS[number // len(MANNERS) % len(MATERIALS)],
        THINGS[number // (len(MANNERS) * len(MATERIALS)) % len(THINGS)],
    )
    return Product(
        slug=f"{SLUG_BEGINNING}{number}",
        category=category,
        name=f"{manner} {material} {thing} no. {number}",
        name_zh_hans=f"{manner_zh}{material_zh}{thing_zh} {number} 号",
        description=f"A {thing} of {material}, made with care, as {manner.lower()} as they come.",
        description_zh_hans=f"{material_zh}{thing_zh}，{manner_zh}款，用心制作。",
    )


def price_minor_of(number: int) -> int:
    """Between 9.00 and 906.00, in no order."""
    return 900 + number * 7919 % 89_800 // 100 * 100
