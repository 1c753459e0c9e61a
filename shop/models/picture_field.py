"""The field of an uploaded picture: checked in forms, turned upright, made smaller, saved as WebP without metadata."""

from typing import Any
from uuid import uuid4

from django import forms
from django.utils import timezone
from imagekit.models import ProcessedImageField

from shop.models.picture_check import check_picture


class PictureFormField(forms.ImageField):
    def to_python(self, data: Any) -> Any:
        if data not in self.empty_values:
            check_picture(data)
        return super().to_python(data)


class PictureField(ProcessedImageField):  # type: ignore[misc]
    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": PictureFormField, **kwargs})


def new_picture_name(picture: Any, filename: str) -> str:
    """Where a picture is kept. A name is never used again, so browsers may keep what they find there for good.

    The name of the uploaded file is not kept: it may say more than its owner meant to.
    """
    return f"products/{timezone.now():%Y/%m}/{uuid4().hex}.webp"
