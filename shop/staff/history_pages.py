"""The history of a row and of the rows that belong to it: who changed what, and when, newest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_safe

from shop.languages.columns import in_default_language, label_in_language
from shop.prices.price_field import price_text
from shop.staff.admin_base import ModelAdmin

# Of each kind of row. An older entry stays in the database.
ENTRIES_MAX = 200

KINDS = {"+": gettext_lazy("added"), "~": gettext_lazy("changed"), "-": gettext_lazy("deleted")}


@dataclass(frozen=True, slots=True)
class FieldChange:
    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    by: str
    what: str
    kind: str
    changes: list[FieldChange] = field(default_factory=list)


class WithHistory(ModelAdmin):
    """Replaces Django's history, which knows the names of changed fields but not their values.

    `history_parts` are the models of rows that belong to this one, each with its field that leads here.
    """

    history_parts: Sequence[tuple[type[models.Model], str]] = ()

    @method_decorator(require_safe)
    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        try:
            pk = self.opts.pk.to_python(unquote(object_id))
        except ValidationError:
            raise Http404 from None
        entries = entries_of(self.model, {"id": pk}) + notes_of(self.model, pk)
        for model, path in self.history_parts:
            entries += entries_of(model, {f"{path}_id": pk})
        obj = self.get_object(request, unquote(object_id))
        if obj is None and not entries:
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("History"),
            "subtitle": str(obj) if obj else None,
            "opts": self.opts,
            "object": obj,
            "entries": sorted(entries, key=lambda entry: entry.at, reverse=True),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/shop/history.html", context)


def entries_of(model: type[models.Model], which: dict[str, Any]) -> list[Entry]:
    """The latest changes of these rows. Three queries at most for any number."""
    history: Any = model.history  # type: ignore[attr-defined]
    related = [one.name for one in history.model._meta.fields if one.is_relation]
    records = list(history.filter(**which).select_related(*related).order_by("-history_id")[: ENTRIES_MAX + 1])
    return [
        Entry(
            at=record.history_date,
            by=str(record.history_user or "–"),
            what=f"{capfirst(model._meta.verbose_name)} · {name_of(record)}",
            kind=str(KINDS[record.history_type]),
            changes=list(changes_between(former, record, model)) if former and record.history_type == "~" else [],
        )
        for record, former in with_former(records)
        # Another person's save of the whole form changes nothing in most rows.
        if not (former and record.history_type == "~" and not list(changes_between(former, record, model)))
    ][:ENTRIES_MAX]


def notes_of(model: type[models.Model], pk: Any) -> list[Entry]:
    """Entries of Django's log that buttons have written in words, for example that a sale was published."""
    content_type = ContentType.objects.get_for_model(model, for_concrete_model=False)
    notes = LogEntry.objects.filter(content_type=content_type, object_id=str(pk)).exclude(
        # Django's own entries are lists of names of fields, in JSON.
        Q(change_message="") | Q(change_message__startswith="[")
    )
    return [
        Entry(at=note.action_time, by=str(note.user), what=note.object_repr, kind=note.change_message)
        for note in notes.select_related("user").order_by("-pk")[:ENTRIES_MAX]
    ]


def with_former(records: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Each record, newest first, with the one before it of the same row; None for the first one."""
    for place, record in enumerate(records):
        yield record, next((older for older in records[place + 1 :] if older.id == record.id), None)


def changes_between(former: Any, record: Any, model: type[models.Model]) -> Iterable[FieldChange]:
    for change in record.diff_against(former, foreign_keys_are_objs=True).changes:
        column = model._meta.get_field(change.field)
        yield FieldChange(
            field=label_of(column), old=value_text(column, change.old), new=value_text(column, change.new)
        )


def label_of(column: Any) -> str:
    if hasattr(column, "translated_field"):
        return label_in_language(column)
    return capfirst(gettext("Price") if column.name == "price_minor" else str(column.verbose_name))


def value_text(column: Any, value: Any) -> str:
    if value is None or value == "":
        return "–"
    if column.name.endswith("_minor"):
        return price_text(value)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if column.choices:
        value = dict(column.flatchoices).get(value, value)
    return str(value)


def name_of(record: Any) -> str:
    """The name of the row at that time. A variant is named by its options too."""
    if sku := getattr(record, "sku", None):
        options = getattr(record, in_default_language("options"))
        return f"{options} ({sku})" if options else str(sku)
    for name in (in_default_language("name"), "variant", "method"):
        if value := getattr(record, name, None):
            return str(value)
    return str(record.id)
