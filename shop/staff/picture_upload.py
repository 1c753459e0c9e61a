"""The pictures of a product: several files at once, then their order and descriptions."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Max
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from shop.languages.columns import in_all_languages
from shop.models import Picture, Product
from shop.models.picture_field import PictureFormField
from shop.staff.admin_base import TabularInline
from shop.staff.product_permissions import OfProduct

# In one form: each is decoded and scaled while the request waits.
PICTURES_MAX = 12

IMAGE: Any = Picture._meta.get_field("image")


class DropZone(forms.ClearableFileInput):
    """A file input that takes several files; pictures.js lets them be dropped on it, and shows them."""

    template_name = "admin/shop/drop_zone.html"
    allow_multiple_selected = True

    class Media:
        js = ["shop/pictures.js"]

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """From the project's templates; those of Django's widgets are elsewhere."""
        return render_to_string(self.template_name, {"name": name, "id": (attrs or {}).get("id", "")})


class PicturesField(PictureFormField):
    """The clean value is a list of checked files."""

    widget = DropZone

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = data if isinstance(data, list) else [data] if data else []
        if len(files) > PICTURES_MAX:
            raise ValidationError(_("At most %(max)d pictures at a time.") % {"max": PICTURES_MAX})
        checked, errors = [], []
        for file in files:
            try:
                checked.append(self.checked(file))
            except ValidationError as error:
                errors += [f"{file.name}: {message}" for message in error.messages]
        if errors:
            raise ValidationError(errors)
        return checked

    def checked(self, file: Any) -> Any:
        if file.size > settings.PICTURE_BYTES_MAX:
            bound = filesizeformat(settings.PICTURE_BYTES_MAX)
            raise ValidationError(_("A picture may have %(max)s at most.") % {"max": bound})
        checked = super().clean(file)
        # The model's own rules, for example which formats it takes.
        IMAGE.run_validators(checked)
        return checked


def add_pictures(product: Product, files: list[Any]) -> list[Picture]:
    """After the pictures that are there."""
    last = product.pictures.aggregate(last=Max("position"))["last"]
    first = 0 if last is None else last + 1
    return [
        Picture.objects.create(product=product, image=file, position=first + place) for place, file in enumerate(files)
    ]


class PictureInline(OfProduct, TabularInline):
    """Saved pictures; new ones come by the field above."""

    model = Picture
    extra = 0
    ordering_field = "position"
    hide_ordering_field = True
    hide_title = True

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return ["thumbnail", *in_all_languages("alt"), "position"]

    readonly_fields = ["thumbnail"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_add_permission(request, obj)

    @admin.display(description=_("picture"))
    def thumbnail(self, picture: Picture) -> SafeString:
        return thumbnail_of(picture)


def thumbnail_of(picture: Picture) -> SafeString:
    return format_html(
        '<img src="{}" alt="{}" width="56" height="56" loading="lazy" class="rounded-default">',
        picture.small.url,
        picture.alt,
    )
