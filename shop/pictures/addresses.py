"""Where pictures are found by programs, which do not know the address of the shop."""

from django.conf import settings


def whole_address(url: str) -> str:
    """A storage gives a path where the shop itself has the files, else a whole address."""
    return f"{settings.SHOP_URL}{url}" if url.startswith("/") else url
