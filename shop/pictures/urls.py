"""Local pictures have an address only if MEDIA_URL is a path of this shop."""

from django.conf import settings
from django.urls import path

from shop.pictures.local_files import picture

PREFIX = settings.MEDIA_URL.strip("/")
urlpatterns = [path(f"{PREFIX}/<path:name>", picture)] if settings.MEDIA_URL.startswith("/") and PREFIX else []
