"""The categories in the header. The buyer's own pages have them from memory, as old as a shell may be."""

import time

from shop.catalogue.category_tree import CategoryTree
from shop.models import Category

FRESH_SECONDS = 1.0


class CategoryMenu:
    """What this process has read last."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._tops: list[Category] = []
        self._fresh_until_s = 0.0

    def read(self) -> list[Category]:
        """In one query."""
        self._tops = CategoryTree().tops
        self._fresh_until_s = time.monotonic() + FRESH_SECONDS
        return self._tops

    def recent(self) -> list[Category]:
        """At most FRESH_SECONDS old: seldom a query."""
        return self._tops if time.monotonic() < self._fresh_until_s else self.read()

    def last_known(self) -> list[Category]:
        """Never a query: for pages that say that something has failed, which may be the database."""
        return self._tops


menu = CategoryMenu()
