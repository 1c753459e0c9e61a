"""The field of an uploaded picture: checked in forms, turned upright, made smaller, saved as WebP without metadata.

The check decodes it completely, so that saving cannot fail later.
"""

import warnings
from typing import IO, Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _
from imagekit.models import ProcessedImageField
from PIL import Image, ImageFile, features

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", *(["AVIF"] if features.check("avif") else []))
# A decoded pixel takes four bytes: a phone's 48 megapixels are 200 MB for a second. A small file may claim far more.
PIXELS_MAX = 50_000_000
# A square is cut out of a picture that was scaled until it fills it: 2000 × 2 pixels would become 640,000 × 640 first.
SIDES_RATIO_MAX = 20


class PictureFormField(forms.ImageField):
    def to_python(self, data: Any) -> Any:
        if data not in self.empty_values:
            check_picture(data)
        return super().to_python(data)


class EightBits:
    """A processor of imagekit. A PNG in grey may have 16 bits; taken as they are, nearly all would be white.

    It may be transparent too, which imagekit would make black: it keeps that of colours alone.
    """

    def process(self, picture: Image.Image) -> Image.Image:
        if not picture.mode.startswith("I"):
            return picture.convert("RGBA") if picture.has_transparency_data else picture
        return picture.point(lambda value: value * (1 / 256)).convert("L")


class PictureField(ProcessedImageField):  # type: ignore[misc]
    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": PictureFormField, **kwargs})


def new_picture_name(picture: Any, filename: str) -> str:
    """Where a picture is kept. A name is never used again, so browsers may keep the file for good.

    The name of the uploaded file is not kept: it may say more than its owner meant to.
    """
    return f"products/{timezone.now():%Y/%m}/{uuid4().hex}.webp"


def check_picture(file: IO[Any]) -> None:
    """Raises ValidationError, whose text is for the uploader. The file is left at its start."""
    if getattr(file, "size", 0) > settings.PICTURE_BYTES_MAX:
        bound = filesizeformat(settings.PICTURE_BYTES_MAX)
        raise ValidationError(_("A picture may have %(max)s at most.") % {"max": bound})
    file.seek(0)
    try:
        with warnings.catch_warnings():
            # About the content of the uploaded file, for example broken metadata.
            warnings.simplefilter("ignore")
            with Image.open(file, formats=FORMATS) as picture:
                check_size(picture)
                picture.load()
    except ValidationError:
        raise
    except Image.DecompressionBombError:
        raise too_large() from None
    except Exception as error:
        # Decoders raise many kinds of errors: OSError, SyntaxError, struct.error, DecompressionBombError.
        raise ValidationError(
            _("This is no picture, or it is damaged. Upload a file in one of these formats: %(formats)s.")
            % {"formats": ", ".join(FORMATS)}
        ) from error
    finally:
        file.seek(0)


def check_size(picture: ImageFile.ImageFile) -> None:
    """Before it is decoded: the header says how large it will be."""
    if picture.width * picture.height > PIXELS_MAX:
        raise too_large()
    if max(picture.size) > SIDES_RATIO_MAX * min(picture.size):
        raise ValidationError(
            _("A picture may be at most %(max)d times as wide as it is high, or as high as it is wide. Crop it first.")
            % {"max": SIDES_RATIO_MAX}
        )


def too_large() -> ValidationError:
    return ValidationError(
        _("A picture may have at most %(max)d megapixels. Make it smaller and upload it again.")
        % {"max": PIXELS_MAX // 1_000_000}
    )
