"""What the shop sells."""

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _


class Category(models.Model):
    name = models.CharField(_("name"), max_length=100, unique=True)
    name_zh = models.CharField(_("Chinese name"), max_length=100, blank=True)
    slug = models.SlugField(_("slug"), max_length=100, unique=True)

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["name"]

    def __str__(self) -> str:
        return in_current_language(self.name, self.name_zh)


class Product(models.Model):
    """A thing sold by the shop. Its ordinary price is `price_minor` minor units (cents, 分) of settings.CURRENCY."""

    name = models.CharField(_("name"), max_length=200)
    name_zh = models.CharField(_("Chinese name"), max_length=200, blank=True)
    slug = models.SlugField(_("slug"), max_length=200, unique=True)
    description = models.TextField(_("description"), blank=True)
    description_zh = models.TextField(_("Chinese description"), blank=True)
    category = models.ForeignKey(
        Category, models.PROTECT, related_name="products", verbose_name=_("category"), null=True, blank=True
    )
    price_minor = models.PositiveBigIntegerField(_("price in minor units"), validators=[MinValueValidator(1)])
    stock = models.PositiveIntegerField(_("ordinary stock"), default=0)
    is_active = models.BooleanField(_("shown in the shop"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("product")
        verbose_name_plural = _("products")
        ordering = ["name", "pk"]
        constraints = [
            models.CheckConstraint(name="shop_product_price_positive", condition=models.Q(price_minor__gt=0)),
        ]

    def __str__(self) -> str:
        return in_current_language(self.name, self.name_zh)

    @property
    def description_here(self) -> str:
        """The description in the reader's language."""
        return in_current_language(self.description, self.description_zh)


def in_current_language(text: str, text_zh: str) -> str:
    """`text_zh` for a Chinese reader where it is not empty, otherwise `text`."""
    return text_zh if text_zh and (get_language() or "").startswith("zh") else text
