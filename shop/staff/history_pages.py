"""The history of a row and of the rows that belong to it: who changed what, and when, newest first.

A page that is saved late, after somebody else has changed what it shows, is compared with it: see `LateSave`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.forms.formsets import DELETION_FIELD_NAME, INITIAL_FORM_COUNT, TOTAL_FORM_COUNT
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_safe

from shop.languages.columns import in_default_language, label_in_language
from shop.prices.price_field import price_text
from shop.staff.admin_base import StaffAdmin

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


# Of a row, by the name of its model and its key: the id of its newest entry, 0 without one.
Shown = dict[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class LateSave:
    """A form whose saving would undo what was changed since its page was shown.

    `current` names, by the prefix of each form, the fields that the person has not touched: they are shown again as
    they are now, and the others as they were typed.
    """

    entries: list[Entry]
    current: dict[str | None, set[str]]


class WithHistory(StaffAdmin):
    """Replaces Django's history, which knows the names of changed fields but not their values.

    `history_parts` are the models of rows that belong to this one, each with its field that leads here. A hidden field
    says which state of all these rows the page shows, so that a late save is shown again, and not made.
    """

    history_parts: Sequence[tuple[type[models.Model], str]] = ()
    change_form_before_template = "admin/shop/changed_since.html"

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = extra_context or {}
        if (pk := self.pk_of(object_id)) is not None:
            # Before the rows are read: a change in between is noticed.
            context = {**context, "seen_history": text_of(self.newest_entries(pk))}
        return super().changeform_view(request, object_id, form_url, context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Django calls this once the row is locked, and before it reads what was sent."""
        form_class: Any = super().get_form(request, obj, change=change, **kwargs)
        if request.method != "POST" or obj is None or "seen_history" not in request.POST:
            return form_class
        late = self.late_save(request, obj, form_class)
        if late is None:
            return form_class
        vars(request)["late_save"] = late
        return type(form_class.__name__, (form_class,), {"is_valid": lambda form: False})

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if late := vars(request).get("late_save"):
            context["changed_since"] = late.entries
            rows = [form for inline in context["inline_admin_formsets"] for form in inline.formset.forms]
            for form in (context["adminform"].form, *rows):
                for name in late.current.get(form.prefix, ()):
                    form.fields[name].bound_data = lambda data, initial: initial
        return super().render_change_form(request, context, *args, **kwargs)

    def late_save(self, request: HttpRequest, obj: Any, form_class: Any) -> LateSave | None:
        """None if nothing was changed since, or saving would undo nothing of it, as with a form that is sent twice."""
        seen, newest = shown_by(request.POST["seen_history"]), self.newest_entries(obj.pk)
        changed = {key: number for key, number in seen.items() if newest.get(key) != number}
        is_late = self.drop_deleted_rows(request, obj)
        if not changed:
            return None
        forms_of: list[tuple[Any, Callable[..., forms.ModelForm[Any]]]] = [(obj, partial(form_class, request.POST))]
        for formset in self._create_formsets(request, obj, change=True)[0]:  # type: ignore[attr-defined]
            for number, form in enumerate(formset.initial_forms):
                sent = {"data": formset.data, "prefix": form.prefix, **formset.get_form_kwargs(number)}
                forms_of.append((form.instance, partial(formset.form, **sent)))
        current: dict[str | None, set[str]] = {}
        for row, make in forms_of:
            if (key := (str(row._meta.model_name), str(row.pk))) in changed:
                now, untouched, both = compared(make, row, entry_id=changed[key])
                current[now.prefix] = untouched
                is_late = is_late or bool(untouched or both)
        if not is_late:
            return None
        entries: list[Entry] = []
        for model in (self.model, *(model for model, _path in self.history_parts)):
            since = {pk: number for (name, pk), number in changed.items() if name == model._meta.model_name}
            entries += entries_of(model, {"id__in": list(since)}, since=since)
        return LateSave(sorted(entries, key=lambda entry: entry.at, reverse=True), current)

    def drop_deleted_rows(self, request: HttpRequest, obj: Any) -> bool:
        """Take rows that others have deleted out of what was sent. A form with one could not be saved again.

        Returns whether one of them has a history, which names it.
        """
        found = False
        for formset in self._create_formsets(request, obj, change=True)[0]:  # type: ignore[attr-defined]
            gone = {
                number
                for number, form in enumerate(formset.initial_forms)
                if form.instance.pk is None and not (formset.can_delete and form[DELETION_FIELD_NAME].data)
            }
            if gone:
                request.POST = without_rows(request.POST, prefix=formset.prefix, gone=gone)  # type: ignore[assignment]
                found = found or formset.model in dict(self.history_parts)
        return found

    def newest_entries(self, pk: Any) -> Shown:
        """Of the row and of those that belong to it."""
        shown: Shown = {}
        for model, path in ((self.model, "pk"), *self.history_parts):
            history: Any = model.history
            newest = history.filter(id=OuterRef("pk")).order_by("-history_id").values("history_id")[:1]
            rows = model._default_manager.filter(**{path: pk}).order_by("pk").values_list("pk", Subquery(newest))
            shown |= {(str(model._meta.model_name), str(key)): number or 0 for key, number in rows}
        return shown

    @method_decorator(require_safe)
    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        if (pk := self.pk_of(object_id)) is None:
            raise Http404
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


def text_of(shown: Shown) -> str:
    return " ".join(f"{model}:{pk}:{number}" for (model, pk), number in shown.items())


def shown_by(text: str) -> Shown:
    """What `text_of` wrote. Anything else is left out."""
    parts = re.findall(r"([a-z]+):([0-9]{1,18}):([0-9]{1,18})(?: |$)", text)
    return {(model, pk): int(number) for model, pk, number in parts}


def compared(
    make: Callable[..., "forms.ModelForm[Any]"], row: models.Model, *, entry_id: int
) -> tuple["forms.ModelForm[Any]", set[str], set[str]]:
    """The form for the row as it is; the fields that only others have changed; those that the person has changed too.

    The row as it was shown is that of the entry. Without one, all that differs now may be the person's own.
    """
    now = make(instance=row)
    entry = type(row).history.filter(id=row.pk, history_id=entry_id).first()  # type: ignore[attr-defined]
    if entry is None:
        return now, set(), set(now.changed_data)
    before = make(instance=entry.instance)
    mine = set(before.changed_data)
    differing = {
        name
        for name, field in now.fields.items()
        if before.get_initial_for_field(before.fields[name], name) != now.get_initial_for_field(field, name)
    }
    theirs = differing & set(now.changed_data)
    return now, theirs - mine, theirs & mine


def without_rows(sent: QueryDict, *, prefix: str, gone: Collection[int]) -> QueryDict:
    """As if the page had not had these rows: those after them get their numbers."""
    left = QueryDict(mutable=True)
    for key, values in sent.lists():
        row = re.fullmatch(rf"{re.escape(prefix)}-([0-9]{{1,9}})-(.+)", key)
        if row is None:
            left.setlist(key, values)
        elif (number := int(row[1])) not in gone:
            left.setlist(f"{prefix}-{number - sum(other < number for other in gone)}-{row[2]}", values)
    for name in (TOTAL_FORM_COUNT, INITIAL_FORM_COUNT):
        left[f"{prefix}-{name}"] = str(int(str(sent[f"{prefix}-{name}"])) - len(gone))
    return left


def entries_of(
    model: type[models.Model], which: dict[str, Any], *, since: Mapping[str, int] | None = None
) -> list[Entry]:
    """The latest changes of these rows; with `since`, those after the entry of each. Three queries at most."""
    history: Any = model.history  # type: ignore[attr-defined]
    related = [one.name for one in history.model._meta.fields if one.is_relation]
    records = list(history.filter(**which).select_related(*related).order_by("-history_id")[: ENTRIES_MAX + 1])
    entries = []
    for record, former in with_former(records):
        if since is not None and record.history_id <= since.get(str(record.id), 0):
            continue
        is_change = former is not None and record.history_type == "~"
        changes = list(changes_between(former, record, model)) if is_change else []
        # Another person's save of the whole form changes nothing in most rows.
        if changes or not is_change:
            what = f"{capfirst(model._meta.verbose_name)} · {name_of(record)}"
            by, kind = str(record.history_user or "–"), str(KINDS[record.history_type])
            entries.append(Entry(at=record.history_date, by=by, what=what, kind=kind, changes=changes))
    return entries[:ENTRIES_MAX]


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
