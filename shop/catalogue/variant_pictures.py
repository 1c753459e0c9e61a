"""Which picture of a product shows a variant."""

from shop.languages.columns import in_all_languages
from shop.models import Picture, Variant
from shop.models.catalogue import split_options


def picture_of_variant(variant: Variant) -> Picture | None:
    """The first picture that shows one of the variant's options, else the product's first. Reads `product.pictures`."""
    pictures = list(variant.product.pictures.all())
    values = {value.casefold() for value in every_value(variant)}
    showing = (picture for picture in pictures if picture.option and picture.option.casefold() in values)
    return next(showing, pictures[0] if pictures else None)


def every_value(variant: Variant) -> list[str]:
    """The values of its options, in all languages: staff write that of any into a picture."""
    texts = [getattr(variant, name) or "" for name in in_all_languages("options")]
    return [value for text in texts for value in split_options(text)]
