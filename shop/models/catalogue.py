"""Categories, products, variants, pictures, tax rates. Texts have a column for each language (shop/translation.py)."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Upper
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from imagekit.models import ImageSpecField
from imagekit.processors import ResizeToFill, ResizeToFit, Transpose
from modeltranslation.manager import MultilingualManager
from modeltranslation.utils import build_localized_fieldname

from shop.models.picture_field import EightBits, PictureField, new_picture_name
from shop.models.search_entry import write_entries

# Categories are shown as a tree of at most so many levels: deeper ones do not fit on a phone.
CATEGORY_LEVELS_MAX = 3

# Separates the names of a product's options, "Size / Colour", and a variant's values for them, "M / Red".
OPTION_SEPARATOR = "/"

# The columns of a variant that only movements of the stock change.
COUNTERS = ("available", "held", "sold")

# Renditions made from a picture when it is saved: fields of Picture.
RENDITIONS = ("large", "medium", "small")


class Category(models.Model):
    name = models.CharField(_("name"), max_length=100)
    slug = models.SlugField(_("slug"), max_length=100, unique=True)
    parent = models.ForeignKey(
        "self", models.PROTECT, related_name="children", verbose_name=_("parent category"), null=True, blank=True
    )
    position = models.PositiveIntegerField(
        _("position"), default=0, help_text=_("Categories beside each other are shown in this order.")
    )

    objects = MultilingualManager["Category"]()

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["position", "name", "pk"]
        constraints = [
            models.CheckConstraint(
                name="shop_category_not_its_own_parent",
                condition=Q(parent=None) | ~Q(parent=F("pk")),
                violation_error_message=_("A category cannot contain itself."),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.slug

    def save(self, *args: Any, **kwargs: Any) -> None:
        former = Category.objects.filter(pk=self.pk).first() if self.pk else None
        super().save(*args, **kwargs)
        # Products are found by the names of their category and of those above it.
        if former is not None and searched_of(former) != searched_of(self):
            below = Q(category=self) | Q(category__parent=self) | Q(category__parent__parent=self)
            write_entries(Product.objects.filter(below))

    def get_absolute_url(self) -> str:
        return reverse("category", args=[self.slug])

    def clean(self) -> None:
        level, above = 1, self.parent
        while above is not None and level <= CATEGORY_LEVELS_MAX:
            level += 1
            if above.pk == self.pk:
                raise ValidationError({"parent": _("A category cannot contain itself.")})
            above = above.parent
        # Those below it move with it.
        if self.parent is not None and level + self.levels_below() > CATEGORY_LEVELS_MAX:
            raise ValidationError(
                {"parent": _("Categories have at most %(max)d levels.") % {"max": CATEGORY_LEVELS_MAX}}
            )

    def levels_below(self) -> int:
        """How many levels of categories this one contains, counted up to CATEGORY_LEVELS_MAX."""
        level = Category.objects.filter(parent=self.pk) if self.pk else Category.objects.none()
        levels = 0
        while levels < CATEGORY_LEVELS_MAX and level.exists():
            levels, level = levels + 1, Category.objects.filter(parent__in=level)
        return levels


class TaxRate(models.Model):
    """A rate of the tax that prices include."""

    name = models.CharField(_("name"), max_length=100)
    percent = models.DecimalField(
        _("percent"),
        max_digits=5,
        decimal_places=2,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
    )

    objects = MultilingualManager["TaxRate"]()

    class Meta:
        verbose_name = _("tax rate")
        verbose_name_plural = _("tax rates")
        ordering = ["-percent", "pk"]
        constraints = [
            models.CheckConstraint(
                name="shop_taxrate_percent_possible", condition=Q(percent__gte=0) & Q(percent__lte=100)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.percent.normalize():f} %)"


class Product(models.Model):
    """A thing sold by the shop. Buyers take one of its variants, which have price and stock."""

    name = models.CharField(_("name"), max_length=200)
    slug = models.SlugField(_("slug"), max_length=200, unique=True)
    description = models.TextField(_("description"), blank=True)
    category = models.ForeignKey(
        Category, models.PROTECT, related_name="products", verbose_name=_("category"), null=True, blank=True
    )
    option_names = models.CharField(
        _("options"),
        max_length=200,
        blank=True,
        help_text=_("What buyers choose between, for example “Size / Colour”. Empty if there is only one variant."),
    )
    search_words = models.CharField(
        _("words of the search"),
        max_length=300,
        blank=True,
        default="",
        db_default="",
        help_text=_("What people also call it, in all languages: “kettle, 水壶”. Not shown."),
    )
    tax_rate = models.ForeignKey(
        TaxRate, models.PROTECT, related_name="products", verbose_name=_("tax rate"), null=True, blank=True
    )
    order_units_max = models.PositiveIntegerField(
        _("most units in one order"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Of all its variants together, at the ordinary price. Empty: the shop's usual number for each."),
    )
    is_active = models.BooleanField(_("shown in the shop"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = MultilingualManager["Product"]()

    class Meta:
        verbose_name = _("product")
        verbose_name_plural = _("products")
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name or self.slug

    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        write_entries(Product.objects.filter(pk=self.pk))

    def get_absolute_url(self) -> str:
        return reverse("product", args=[self.slug])

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        files = [file for picture in self.pictures.all() for file in picture.files]
        deleted = super().delete(*args, **kwargs)
        delete_files(files)
        return deleted

    @property
    def first_picture(self) -> "Picture | None":
        """The one in lists. Pages that show many products fetch `pictures` in advance."""
        return next(iter(self.pictures.all()), None)


class Variant(models.Model):
    """One form of a product that can be bought: a price, a stock keeping unit, and the units that are there.

    `available` units can be sold now; `held` ones belong to checkouts that are not paid yet; `sold` counts all that
    were ever sold. Only `shop/stock/movements.py` changes these three, and writes each change to the journal.
    """

    product = models.ForeignKey(Product, models.CASCADE, related_name="variants", verbose_name=_("product"))
    sku = models.CharField(_("SKU"), max_length=64, unique=True, help_text=_("The shop's own number of this variant."))
    options = models.CharField(
        _("options"),
        max_length=200,
        blank=True,
        help_text=_("The values of the product's options in their order, for example “M / Red”."),
    )
    price_minor = models.PositiveBigIntegerField(_("price in minor units"), validators=[MinValueValidator(1)])
    weight_grams = models.PositiveIntegerField(_("weight in grams"), default=0)
    position = models.PositiveIntegerField(_("position"), default=0)
    is_active = models.BooleanField(_("can be bought"), default=True)
    low_stock_at = models.PositiveIntegerField(
        _("low at"),
        null=True,
        blank=True,
        help_text=_("The stock is low at so many available units or fewer. Empty means the shop's usual number."),
    )
    available = models.PositiveIntegerField(_("available"), default=0, editable=False)
    held = models.PositiveIntegerField(_("held by checkouts"), default=0, editable=False)
    sold = models.PositiveBigIntegerField(_("sold"), default=0, editable=False)

    objects = MultilingualManager["Variant"]()

    class Meta:
        verbose_name = _("variant")
        verbose_name_plural = _("variants")
        ordering = ["product", "position", "pk"]
        constraints = [
            models.CheckConstraint(name="shop_variant_price_positive", condition=Q(price_minor__gt=0)),
        ]
        indexes = [GinIndex(OpClass(Upper("sku"), name="gin_trgm_ops"), name="shop_variant_sku_parts")]

    def __str__(self) -> str:
        return f"{self.product} · {self.options}" if self.options else str(self.product)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """The counters of a saved variant stay: units may have moved since this object was read."""
        if not self._state.adding and not args:
            kwargs.setdefault("update_fields", self.columns_of_staff())
        super().save(*args, **kwargs)
        # The page of the stock, which has locked the variant, saves this column alone.
        if kwargs.get("update_fields") != ["low_stock_at"]:
            write_entries(Product.objects.filter(pk=self.product_id))

    def get_absolute_url(self) -> str:
        return self.product.get_absolute_url()

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        deleted = super().delete(*args, **kwargs)
        write_entries(Product.objects.filter(pk=self.product_id))
        return deleted

    @classmethod
    def columns_of_staff(cls) -> list[str]:
        """All that forms and imported tables may write of a saved variant."""
        columns = [field for field in cls._meta.concrete_fields if not field.primary_key]
        return [field.name for field in columns if field.name not in COUNTERS]


class Picture(models.Model):
    """A picture of a product. An upload is turned upright, made smaller and saved without its metadata."""

    product = models.ForeignKey(Product, models.CASCADE, related_name="pictures", verbose_name=_("product"))
    image = PictureField(
        verbose_name=_("picture"),
        upload_to=new_picture_name,
        processors=[EightBits(), Transpose(), ResizeToFit(2000, 2000, upscale=False)],
        format="WEBP",
        options={"quality": 85},
    )
    alt = models.CharField(
        _("description of the picture"),
        max_length=200,
        blank=True,
        help_text=_("For people who cannot see it. Empty means the product's name."),
    )
    option = models.CharField(
        _("shows the option"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_("A value such as “Red”: the page of the product shows this picture when it is chosen."),
    )
    position = models.PositiveIntegerField(_("position"), default=0)

    large = ImageSpecField(
        source="image", processors=[ResizeToFit(1200, 1200, upscale=False)], format="WEBP", options={"quality": 80}
    )
    medium = ImageSpecField(source="image", processors=[ResizeToFill(640, 640)], format="WEBP", options={"quality": 75})
    small = ImageSpecField(source="image", processors=[ResizeToFill(200, 200)], format="WEBP", options={"quality": 70})

    objects = MultilingualManager["Picture"]()

    class Meta:
        verbose_name = _("picture")
        verbose_name_plural = _("pictures")
        ordering = ["product", "position", "pk"]

    def __str__(self) -> str:
        return self.alt or str(self.product)

    def save(self, *args: Any, **kwargs: Any) -> None:
        former = Picture.objects.filter(pk=self.pk).first() if self.pk else None
        super().save(*args, **kwargs)
        self.close_files()
        if former is not None and former.image.name != self.image.name:
            delete_files(former.files)

    def close_files(self) -> None:
        """Making the renditions has opened them."""
        for size in RENDITIONS:
            getattr(self, size).close()

    @property
    def files(self) -> list[str]:
        """The names of its files in the storage: the picture and its renditions."""
        return [self.image.name, *(getattr(self, size).name for size in RENDITIONS)] if self.image else []

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        files = self.files
        deleted = super().delete(*args, **kwargs)
        delete_files(files)
        return deleted


def delete_files(names: list[str]) -> None:
    """After the commit, since a transaction that is rolled back keeps its pictures. `sweep_pictures` repeats it where a
    process was killed in between, and for rows that were deleted in bulk."""

    def delete() -> None:
        for name in names:
            default_storage.delete(name)

    transaction.on_commit(delete, robust=True)


def searched_of(category: Category) -> list[Any]:
    names = [getattr(category, build_localized_fieldname("name", code)) for code, _name in settings.LANGUAGES]
    return [*names, category.parent_id]


def split_options(text: str | None) -> list[str]:
    """The parts of "Size / Colour" or "M / Red"."""
    return [part.strip() for part in (text or "").split(OPTION_SEPARATOR) if part.strip()]
