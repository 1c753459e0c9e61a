"""All categories of the shop as a tree, from one query, and those on top as the menu in the header.

A shop has some dozens, seldom some hundreds.
"""

import time
from collections import defaultdict
from dataclasses import dataclass

from shop.databases.replica import reading_alias
from shop.models import Category

# The buyer's own pages have the menu from memory, as old as a shell may be.
FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Branch:
    """A category with those below it."""

    category: Category
    below: "list[Branch]"


class CategoryTree:
    def __init__(self) -> None:
        self.categories = {category.pk: category for category in Category.objects.using(reading_alias())}
        self._children: dict[int | None, list[Category]] = defaultdict(list)
        for category in self.categories.values():
            self._children[category.parent_id].append(category)

    @property
    def tops(self) -> list[Category]:
        return self._children[None]

    def find(self, slug: str) -> Category | None:
        return next((category for category in self.categories.values() if category.slug == slug), None)

    def children(self, category: Category) -> list[Category]:
        return self._children[category.pk]

    def branches(self, parent: Category | None = None) -> list[Branch]:
        return [Branch(it, self.branches(it)) for it in self._children[parent.pk if parent else None]]

    def path_to(self, category_id: int | None) -> list[Category]:
        """From the top down to the category itself. Two changes at the same time could have made a circle."""
        path: list[Category] = []
        while category_id is not None and self.categories[category_id] not in path:
            path.insert(0, self.categories[category_id])
            category_id = path[0].parent_id
        return path

    def ids_in(self, category: Category) -> list[int]:
        """The category and all below it."""
        found = [category.pk]
        for pk in found:
            found += [child.pk for child in self._children[pk] if child.pk not in found]
        return found


class CategoryMenu:
    """The categories in the header, as this process has read them last."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._tops: list[Category] = []
        self._fresh_until_s = 0.0

    def read(self, tree: CategoryTree | None = None) -> list[Category]:
        """From the tree, if the page has read it already; else in one query."""
        self._tops = (tree or CategoryTree()).tops
        self._fresh_until_s = time.monotonic() + FRESH_SECONDS
        return self._tops

    def recent(self) -> list[Category]:
        """At most FRESH_SECONDS old: seldom a query."""
        return self._tops if time.monotonic() < self._fresh_until_s else self.read()

    def last_known(self) -> list[Category]:
        """Never a query: for pages that say that something has failed, which may be the database."""
        return self._tops


menu = CategoryMenu()
