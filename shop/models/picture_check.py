"""Whether an upload is a picture that the shop can keep. It is decoded completely, so that saving cannot fail later."""

import warnings
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from PIL import Image, ImageFile, features

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", *(["AVIF"] if features.check("avif") else []))
# A decoded pixel takes four bytes: a phone's 48 megapixels are 200 MB for a second. A small file may claim far more.
PIXELS_MAX = 50_000_000


def check_picture(file: IO[Any]) -> None:
    """Raises ValidationError with words for whoever uploaded it. The file is left at its start."""
    if getattr(file, "size", 0) > settings.PICTURE_BYTES_MAX:
        bound = filesizeformat(settings.PICTURE_BYTES_MAX)
        raise ValidationError(_("A picture may have %(max)s at most.") % {"max": bound})
    file.seek(0)
    try:
        with warnings.catch_warnings():
            # About what is in a file that somebody has sent, for example broken metadata.
            warnings.simplefilter("ignore")
            with Image.open(file, formats=FORMATS) as picture:
                check_size(picture)
                picture.load()
    except (ValidationError, Image.DecompressionBombError):
        raise too_large() from None
    except Exception as error:
        # Decoders raise whatever comes to them: OSError, SyntaxError, struct.error, DecompressionBombError.
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


def too_large() -> ValidationError:
    return ValidationError(
        _("A picture may have at most %(max)d megapixels. Make it smaller and upload it again.")
        % {"max": PIXELS_MAX // 1_000_000}
    )
