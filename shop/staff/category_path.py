"""A category with its place in the tree, "Kitchen / Tea / Green tea": how staff read and choose it."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from shop.catalogue.category_tree import Branch, CategoryTree
from shop.models import Category
from shop.models.catalogue import CATEGORY_LEVELS_MAX

SEPARATOR = " / "
# For `select_related`: all categories above one, so that its path needs no query.
PARENTS = "__".join(["parent"] * (CATEGORY_LEVELS_MAX - 1))


def path_of(category: Category) -> str:
    """Load the category with PARENTS first where there are many."""
    return SEPARATOR.join(str(step) for step in (*above(category), category))


def above(category: Category) -> list[Category]:
    """From the top of the tree to the category's parent."""
    steps: list[Category] = []
    parent = category.parent
    while parent is not None and len(steps) < CATEGORY_LEVELS_MAX:
        steps.insert(0, parent)
        parent = parent.parent
    return steps


def in_tree_order() -> list[tuple[Category, str]]:
    """All categories with their paths, each under its parent. One query."""
    listed: list[tuple[Category, str]] = []

    def add(branches: list[Branch], prefix: str) -> None:
        for branch in branches:
            listed.append((branch.category, f"{prefix}{branch.category}"))
            add(branch.below, f"{prefix}{branch.category}{SEPARATOR}")

    add(CategoryTree().branches(), "")
    return listed


class CategoryIterator(forms.models.ModelChoiceIterator):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        if self.field.empty_label is not None:
            yield "", self.field.empty_label
        for category, path in in_tree_order():
            yield self.field.prepare_value(category), path


class CategoryField(forms.ModelChoiceField):  # type: ignore[type-arg]
    iterator = CategoryIterator
    widget = UnfoldAdminSelectWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(queryset=Category.objects.all(), **{"required": False, **kwargs})


class CategoryFilter(admin.SimpleListFilter):
    """Products of a category and of those below it."""

    title = _("category")
    parameter_name = "category"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(category.pk), path) for category, path in in_tree_order()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen or not chosen.isdecimal():
            return queryset
        at_any_level = Q()
        for level in range(CATEGORY_LEVELS_MAX):
            at_any_level |= Q(**{f"category{'__parent' * level}": int(chosen)})
        return queryset.filter(at_any_level)
