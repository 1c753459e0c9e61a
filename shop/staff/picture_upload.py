"""The pictures of a product: several files at once, then their order and descriptions.

Reading a picture takes a second. So all are read, and their files written, before any row is locked (`read_pictures`);
the form says what was refused. A form with an error keeps the good ones: it shows them with their signed names, which
come back with it. Files that belong to no row are swept after an hour (shop/pictures/orphan_files.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core import signing
from django.core.exceptions import ValidationError
from django.db.models import Max
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.datastructures import MultiValueDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from shop.languages.columns import in_all_languages
from shop.models import Picture, Product
from shop.models.catalogue import RENDITIONS
from shop.models.picture_field import PictureFormField
from shop.staff.admin_base import TabularInline
from shop.staff.product_permissions import OfProduct

# In one form: each is decoded and scaled while the request waits.
PICTURES_MAX = 12

# Less than the age at which their files are swept.
KEPT_SECONDS_MAX = 50 * 60
KEPT_SALT = "shop.kept-picture"

IMAGE: Any = Picture._meta.get_field("image")


class DropZone(forms.ClearableFileInput):
    """A file input that takes several files; pictures.js lets them be dropped on it, and shows them."""

    template_name = "admin/shop/drop_zone.html"
    allow_multiple_selected = True

    class Media:
        js = ["shop/pictures.js"]

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """From the project's templates; those of Django's widgets are elsewhere."""
        kept = [
            {
                "name": file.name,
                "url": file.picture.small.url,
                "token": signing.dumps([file.image_name, file.name], salt=KEPT_SALT),
            }
            for file in value or []
            if isinstance(file, ReadPicture) and file.picture
        ]
        return render_to_string(self.template_name, {"name": name, "id": (attrs or {}).get("id", ""), "kept": kept})


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """An uploaded file: the picture that was made of it, without a row, or why it was refused."""

    name: str
    picture: Picture | None = None
    refusals: tuple[str, ...] = ()

    @property
    def image_name(self) -> str:
        return str(self.picture.image.name) if self.picture else ""


def read_pictures(files: "MultiValueDict[str, Any]", *, field: str, tokens: Sequence[str]) -> None:
    """Put a ReadPicture in the place of each file, after those that a form with an error has kept.

    More than a form may have are left as they are, for its refusal.
    """
    kept = [kept_picture(token) for token in tokens[:PICTURES_MAX]]
    uploads = files.getlist(field)
    if len(uploads) + len(kept) <= PICTURES_MAX:
        uploads = [read_picture(upload) for upload in uploads]
    if kept or uploads:
        files.setlist(field, [*kept, *uploads])


def kept_picture(token: str) -> ReadPicture:
    try:
        image, name = signing.loads(token, salt=KEPT_SALT, max_age=KEPT_SECONDS_MAX)
    except signing.BadSignature:
        return ReadPicture("–", refusals=(str(_("This picture is no longer kept. Please choose it again.")),))
    return ReadPicture(name, Picture(image=image))


def read_picture(upload: Any) -> ReadPicture:
    if upload.size > settings.PICTURE_BYTES_MAX:
        bound = filesizeformat(settings.PICTURE_BYTES_MAX)
        return ReadPicture(upload.name, refusals=(_("A picture may have %(max)s at most.") % {"max": bound},))
    try:
        checked = PictureFormField().clean(upload)
        # The model's own rules, for example which formats it takes.
        IMAGE.run_validators(checked)
    except ValidationError as error:
        return ReadPicture(upload.name, refusals=tuple(error.messages))
    picture = Picture()
    picture.image.save(upload.name, checked, save=False)
    for size in RENDITIONS:
        getattr(picture, size).generate()
    picture.close_files()
    return ReadPicture(upload.name, picture)


class PicturesField(forms.FileField):
    """The clean value is a list of pictures without rows. Its data are what `read_pictures` has made."""

    widget = DropZone

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was read, which the widget shows again after an error. A usual file field forgets it."""
        return data

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = data if isinstance(data, list) else [data] if data else []
        if len(files) > PICTURES_MAX:
            raise ValidationError(_("At most %(max)d pictures at a time.") % {"max": PICTURES_MAX})
        errors = [f"{file.name}: {refusal}" for file in files for refusal in file.refusals]
        if errors:
            raise ValidationError(errors)
        return [file.picture for file in files]


def add_pictures(product: Product, pictures: list[Picture]) -> list[Picture]:
    """After the pictures that are there. Returns those that were added, under the lock of the product.

    A form that is sent twice would make two rows of a file that it has kept, and one that is removed takes the file.
    """
    names = [picture.image.name for picture in pictures]
    used = set(Picture.objects.filter(image__in=names).values_list("image", flat=True))
    pictures = [picture for picture in pictures if picture.image.name not in used]
    last = product.pictures.aggregate(last=Max("position"))["last"]
    for position, picture in enumerate(pictures, 0 if last is None else last + 1):
        picture.product, picture.position = product, position
        picture.save()
    return pictures


def what_was_done(added: list[Picture], formset: Any) -> Iterator[str]:
    """Of a saved form, for the history of the product: nothing if it left the pictures as they were."""
    changed = [picture for picture, _fields in formset.changed_objects]
    removed = formset.deleted_objects
    texts = {
        ngettext("%(count)d picture added", "%(count)d pictures added", len(added)): added,
        ngettext("%(count)d picture changed", "%(count)d pictures changed", len(changed)): changed,
        ngettext("%(count)d picture removed", "%(count)d pictures removed", len(removed)): removed,
    }
    for text, pictures in texts.items():
        if pictures:
            names = gettext(", ").join(picture.alt for picture in pictures if picture.alt)
            yield gettext(": ").join(filter(None, [text % {"count": len(pictures)}, names]))


class PictureInline(OfProduct, TabularInline):
    """Saved pictures; new ones come by the field above."""

    model = Picture
    extra = 0
    ordering_field = "position"
    hide_ordering_field = True
    hide_title = True

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return ["thumbnail", *in_all_languages("alt"), "option", "position"]

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
