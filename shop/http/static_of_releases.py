"""Static files of this release, and of the releases before and after it.

In a rolling release old and new processes answer side by side, and a page of one asks any of them for its files. Names
contain a hash of the content, so files of all releases can lie in one directory, and none is ever another one's.
"""

import re

from django.conf import settings
from django.core.exceptions import SuspiciousFileOperation
from django.http import HttpRequest, HttpResponseBase
from django.utils._os import safe_join
from whitenoise.base import MissingFileError  # type: ignore[import-untyped]
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]
from whitenoise.responders import StaticFile  # type: ignore[import-untyped]

# As HashedStaticFiles writes them: site.3f2a9c0d1e4b.css
HASHED = re.compile(r"\.[0-9a-f]{12}\.[a-z0-9]+$")


class StaticOfReleases(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise knows the files that were there at the start. This one also looks on the disk, where it knows none."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        url = request.path_info
        if url not in self.files and url.startswith(self.static_prefix) and HASHED.search(url):
            for directory in (settings.STATIC_ROOT, settings.STATIC_OF_RELEASES):
                if found := self.on_disk(str(directory), url):
                    # Never removed, so it need not be looked for again.
                    self.files[url] = found
                    break
        response: HttpResponseBase = super().__call__(request)
        return response

    def on_disk(self, directory: str, url: str) -> StaticFile | None:
        if not directory:
            return None
        try:
            path = safe_join(directory, url.removeprefix(self.static_prefix))
            return self.find_file_at_path(path, url)
        except (MissingFileError, SuspiciousFileOperation, OSError, ValueError):
            return None

    def immutable_file_test(self, path: str, url: str) -> bool:
        """A file of another release is not in this one's list, and its name has the hash all the same."""
        return bool(url.startswith(self.static_prefix) and HASHED.search(url))
