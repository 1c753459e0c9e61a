"""Pictures from the shop's own disk, for `make run` and small shops. Others set MEDIA_STORAGE and MEDIA_URL."""

import re
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.utils._os import safe_join
from django.views.decorators.http import require_safe

# All that the shop writes: products/2026/11/….webp and renditions/products/2026/11/…/….webp
NAME = re.compile(r"(?:renditions/)?products/[0-9a-f/]+\.webp")
# A name is never used again (shop/models/picture_field.py).
CACHE_CONTROL = "public, max-age=31536000, immutable"


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponse:
    if NAME.fullmatch(name) is None:
        raise Http404
    try:
        content = Path(safe_join(settings.MEDIA_ROOT, name)).read_bytes()
    except OSError as error:
        raise Http404 from error
    return HttpResponse(content, content_type="image/webp", headers={"Cache-Control": CACHE_CONTROL})


# Only if MEDIA_URL is a path of this shop.
PREFIX = settings.MEDIA_URL.strip("/")
urlpatterns = [path(f"{PREFIX}/<path:name>", picture)] if settings.MEDIA_URL.startswith("/") and PREFIX else []
