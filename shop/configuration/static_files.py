"""Static files under names that contain a hash of their content, compressed, and cached by browsers for good."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.contrib.staticfiles.apps import StaticFilesConfig
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

# What packages bring and no page asks for.
NOT_NEEDED = (
    # Browsers read these in their tools for developers alone.
    "*.map",
    # The API answers with JSON, and its description is shown by Swagger UI.
    "rest_framework",
    "redoc",
    "swagger-ui-standalone-preset*",
    # Pages have the minified htmx 2 without extensions.
    "htmx-2.js",
    "htmx-4*",
    "htmax-4*",
    "django_htmx/ext/*",
)


class NeededStaticFiles(StaticFilesConfig):
    """Django's app, whose `collectstatic` leaves out what is not needed: most of the bytes, and of its time."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, *NOT_NEEDED]


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """`collectstatic` writes the hashed files and the list of their names, which web processes read at start.

    A file that is not in the list is given by its plain name: tests and `runserver` work without `collectstatic`, and
    a forgotten file costs its caching and not the page.
    """

    # The scripts are modules and import each other by relative paths, which must be hashed too.
    support_js_module_import_aggregation = True
    # Where a reference that leads nowhere is a mistake. Packages have some, to files that they leave out.
    OWN = ("shop/", "seckill/", "orders/")

    def stored_name(self, name: str) -> str:
        cleaned = self.clean_name(name)
        return str(self.hashed_files.get(self.hash_key(cleaned), cleaned))

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pages name no others than the hashed ones."""
        compressed: Iterator[tuple[str, str]] = super().compress_files({*paths} & {*self.hashed_files.values()})
        return compressed

    def url_converter(self, name: str, *args: Any, **options: Any) -> Callable[[re.Match[str]], str]:
        convert: Callable[[re.Match[str]], str] = super().url_converter(name, *args, **options)
        if name.startswith(self.OWN):
            return convert

        def convert_if_found(match: re.Match[str]) -> str:
            try:
                return convert(match)
            except ValueError:
                return match[0]

        return convert_if_found
