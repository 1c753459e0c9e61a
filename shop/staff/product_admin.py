"""Products in the admin, with their variants and pictures on one page."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Max, Min, OuterRef, Prefetch, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from shop.languages.columns import in_all_languages, in_default_language, language_tabs
from shop.models import Picture, Product, StockChange, Variant
from shop.models.search_entry import lock_entries
from shop.prices.price_field import price_text
from shop.staff.admin_base import StaffAdmin
from shop.staff.category_path import PARENTS, CategoryField, CategoryFilter, path_of
from shop.staff.history_pages import WithHistory
from shop.staff.picture_upload import (
    PictureInline,
    PicturesField,
    add_pictures,
    read_pictures,
    thumbnail_of,
    what_was_done,
)
from shop.staff.product_filters import InSaleFilter, StockFilter
from shop.staff.product_tables import WithProductTables
from shop.staff.variant_form import VariantInline
from shop.staff.variant_rules import items_dearer_than, reason_to_keep
from shop.stock import movements


class ProductForm(forms.ModelForm):  # type: ignore[type-arg]
    new_pictures = PicturesField(label=_("New pictures"), required=False)

    class Meta:
        model = Product
        fields = "__all__"  # noqa: DJ007 the admin's fieldsets choose


@admin.register(Product)
class ProductAdmin(WithProductTables, WithHistory, StaffAdmin):
    form = ProductForm
    list_display = ["picture", "title", "category_path", "prices", "available", "is_active"]
    list_display_links = ["picture", "title"]
    list_filter = ["is_active", StockFilter, InSaleFilter, CategoryFilter]
    list_select_related = [f"category__{PARENTS}"]
    search_fields = [*in_all_languages("name"), "slug", "variants__sku"]
    search_help_text = _("Name or SKU")
    prepopulated_fields = {"slug": [in_default_language("name")]}
    inlines = [VariantInline, PictureInline]
    history_parts = [(Variant, "product")]

    class Media:
        css = {"all": ["shop/products.css"]}

    def get_fieldsets(self, request: HttpRequest, obj: Product | None = None) -> list[Any]:
        fieldsets = [
            *language_tabs("name", "description", "option_names"),
            (None, {"fields": ["slug", "category", "search_words", "tax_rate", "order_units_max", "is_active"]}),
        ]
        if self.may_save(request, obj):
            fieldsets.append((None, {"classes": ["new-pictures"], "fields": ["new_pictures"]}))
        return fieldsets

    def may_save(self, request: HttpRequest, obj: Product | None) -> bool:
        return self.has_change_permission(request, obj) if obj else self.has_add_permission(request)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "category":
            return CategoryField(label=capfirst(_("category")), empty_label="–")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Inside the tab of a language, a field need not name the language."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        original = getattr(db_field, "translated_field", None)
        if field is not None and original is not None:
            field.label = capfirst(original.verbose_name)
        return field

    def get_queryset(self, request: HttpRequest) -> QuerySet[Product]:
        """Each column is a subquery, so that PostgreSQL computes it for the listed rows alone."""
        products: QuerySet[Product] = super().get_queryset(request)
        of_product = Variant.objects.filter(product=OuterRef("pk")).order_by().values("product")
        return products.annotate(
            price_from=Subquery(of_product.annotate(found=Min("price_minor")).values("found")),
            price_to=Subquery(of_product.annotate(found=Max("price_minor")).values("found")),
            units=Subquery(of_product.filter(is_active=True).annotate(found=Sum("available")).values("found")),
        ).prefetch_related(Prefetch("pictures", Picture.objects.order_by("position", "pk")))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Django begins the transaction in there, and its rows are locked while the form is checked and saved."""
        may_save = self.has_change_permission(request) if object_id else self.has_add_permission(request)
        if request.method == "POST" and may_save:
            read_pictures(request.FILES, field="new_pictures", tokens=request.POST.getlist("kept_pictures"))
        return super().changeform_view(request, object_id, form_url, extra_context)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The variants are locked too: a sale could be published, and units could move, while the form is checked."""
        product = super().get_object(request, object_id, from_field)
        if product is not None and request.method == "POST":
            lock_entries([product.pk])
            movements.lock(list(product.variants.values_list("pk", flat=True)))
        return product

    @admin.display(description="")
    def picture(self, product: Product) -> str:
        pictures = product.pictures.all()
        return thumbnail_of(pictures[0]) if pictures else "–"

    @admin.display(description=_("name"), ordering="name")
    def title(self, product: Product) -> str:
        return str(product)

    @admin.display(description=_("category"), ordering="category__name")
    def category_path(self, product: Product) -> str:
        return path_of(product.category) if product.category else "–"

    @admin.display(description=_("Price"), ordering="price_from")
    def prices(self, product: Any) -> str:
        if product.price_from is None:
            return "–"
        if product.price_from == product.price_to:
            return price_text(product.price_from)
        return f"{price_text(product.price_from)} – {price_text(product.price_to)}"

    @display(description=_("available"), ordering="units")  # type: ignore[untyped-decorator]
    def available(self, product: Any) -> int:
        return product.units or 0

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        added = add_pictures(form.instance, form.cleaned_data.get("new_pictures") or [])
        for done in what_was_done(added, next(formset for formset in formsets if formset.model is Picture)):
            self.log_change(request, form.instance, done)
        for row in next(formset for formset in formsets if formset.model is Variant).forms:
            self.after_row(request, row)
        product = form.instance
        if product.is_active and not product.variants.filter(is_active=True).exists():
            text = _("“%(product)s” is shown in the shop, but no variant of it can be bought.")
            self.message_user(request, text % {"product": product}, messages.WARNING)

    def after_row(self, request: HttpRequest, row: Any) -> None:
        """The first units of a new variant go into the journal; a draft of a sale that is dearer now is named."""
        variant, cleaned = row.instance, getattr(row, "cleaned_data", {})
        if variant.pk is None:
            return
        if (units := cleaned.get("first_units")) and not row.fields["first_units"].disabled:
            reason = str(_("first stock of a new variant"))
            movements.move(
                kind=StockChange.Kind.CHANGED,
                units_of={variant.pk: units},
                reason=reason,
                made_by=cast(User, request.user),
            )
        if "price_minor" in row.changed_data:
            for item in items_dearer_than(variant.price_minor, variant=variant):
                text = _(
                    "The sale “%(sale)s” has a higher price for this product: %(price)s. Lower it before you publish "
                    "the sale."
                )
                named = {"sale": item.sale, "price": price_text(item.price_minor)}
                self.message_user(request, text % named, messages.WARNING)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """A product's own rows are deleted with it, although their admin allows no deleting."""
        listed, counts, lacking, protected = super().get_deleted_objects(objs, request)
        parts = {model._meta.verbose_name for model in (Variant, Picture)}
        return listed, counts, lacking - parts, protected

    def reason_to_keep(self, obj: Product) -> str | None:
        if obj.variants.filter(order_lines__isnull=False).exists():
            return _("“%(product)s” has orders, so it cannot be deleted. Hide it from the shop instead.") % {
                "product": obj
            }
        if obj.variants.filter(sale_items__isnull=False).exists():
            return _("“%(product)s” is in a sale, so it cannot be deleted. Hide it from the shop instead.") % {
                "product": obj
            }
        for variant in obj.variants.filter(held__gt=0):
            return reason_to_keep(variant)
        if StockChange.objects.filter(variant__product=obj).exists():
            text = _(
                "“%(product)s” has a journal of its stock, so it cannot be deleted. Hide it from the shop instead."
            )
            return text % {"product": obj}
        return None
