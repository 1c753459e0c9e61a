"""The base of all admin pages of the shop."""

from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.contrib.admin import action, site
from django.contrib.admin import actions as admin_actions
from django.contrib.admin.exceptions import NotRegistered
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ERROR_FLAG, ChangeList
from django.contrib.contenttypes.models import ContentType
from django.contrib.contenttypes.views import shortcut
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import DataError, ProgrammingError, models, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise, cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from unfold.admin import checkbox
from unfold.decorators import display

from shop.languages.columns import label_in_language
from shop.times import zone

if TYPE_CHECKING:
    # django-unfold has no types; its classes extend these.
    from django.contrib import admin

    UnfoldModelAdmin = admin.ModelAdmin[Any]
    UnfoldTabularInline = admin.TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin as UnfoldModelAdmin
    from unfold.admin import TabularInline as UnfoldTabularInline

__all__ = ["ModelAdmin", "StaffAdmin", "TabularInline"]


# Of a list of any length, so many rows are counted and can be leafed through. Reading all rows of a large shop only to
# count them would take longer than the page itself, and staff do not leaf so far.
LISTED_MAX = 10_000


@cache
def checkbox_html(*, language: str | None) -> str:
    """The theme's checkbox before a row, with a place for the row's key. Its label is in the language of the page."""
    rendered: str = checkbox.render(ACTION_CHECKBOX_NAME, "ROW")
    return rendered.replace("{", "{{").replace("}", "}}").replace("ROW", "{}")


def once_for_each_row(shown: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """For a method of a page that shows a read-only field and asks the database: the theme calls it five times."""

    @wraps(shown)
    def remembered(self: Any, obj: Any) -> Any:
        known = vars(obj).setdefault("_shown_by_admin", {})
        if shown.__name__ not in known:
            known[shown.__name__] = shown(self, obj)
        return known[shown.__name__]

    return remembered


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts to LISTED_MAX at most."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if not isinstance(rows, models.QuerySet):
            return super().count
        return rows.order_by()[:LISTED_MAX].count()


class ModelAdmin(UnfoldModelAdmin):
    """Each field for a time names its zone, each field for a text in one language names the language.

    A list counts and leafs through LISTED_MAX rows and no more; search and filters lead to the others.
    """

    # A row of the theme's lists weighs six kilobytes, and takes two milliseconds to write.
    list_per_page = 25
    paginator = BoundedPaginator
    show_full_result_count = False
    # How the sidebar calls the list, where that is not the plural of the rows.
    list_title: str | Promise = ""
    # The list says this while there are no rows at all.
    when_empty: str | Promise = _("Nothing here yet.")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        title = self.list_title or capfirst(self.opts.verbose_name_plural)
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        try:
            return super().get_changelist_instance(request)
        except (DataError, IndexError, OverflowError, ProgrammingError, ValueError) as error:
            if request.GET.keys() <= {ERROR_FLAG}:
                raise
            # A filter that Django or PostgreSQL cannot read: a text with a NUL, a range of one value, a year like 10³⁰.
            raise IncorrectLookupParameters from error

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        # A field that completes what is typed has no form of Django's that refuses a NUL, as the search box has.
        return super().get_search_results(request, queryset, search_term.replace("\0", ""))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        # The theme asks which buttons a row may have before Django looks whether there can be such a row.
        if object_id and self.pk_of(object_id) is None:
            back: HttpResponse = self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined]
            return back
        return super().changeform_view(request, object_id, form_url, extra_context)

    def pk_of(self, object_id: str | None) -> Any:
        """None if there can be no such row."""
        try:
            return self.opts.pk.to_python(unquote(object_id)) if object_id else None
        except ValidationError:
            return None

    @display(description=getattr(UnfoldModelAdmin.action_checkbox, "short_description", ""))  # type: ignore[untyped-decorator]
    def action_checkbox(self, obj: models.Model) -> SafeString:
        """As the theme's, which renders two templates for each row."""
        return format_html(checkbox_html(language=get_language()), obj.pk)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(db_field, models.DateTimeField):
            field.help_text = f"{field.help_text} {zone.field_hint()}".strip()
            for part in field.widget.widgets:
                # The theme names both alike, whichever time it is.
                part.attrs["aria-label"] = f"{field.label} · {part.attrs['placeholder']}"
        return with_language(field, db_field)

    def page_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        """More context for the page of `obj`, beside Django's own; None is a new row."""
        return {}

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        more = self.page_context(request, obj)
        return super().render_change_form(request, context | more, add, change, form_url, obj)


class TabularInline(UnfoldTabularInline):
    """As ModelAdmin."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return with_language(super().formfield_for_dbfield(db_field, request, **kwargs), db_field)

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """A cell has no label of its own, and a screen reader in a form does not say the heading of its column."""
        formset = super().get_formset(request, obj, **kwargs)
        for field in formset.form.base_fields.values():
            field.widget.attrs.setdefault("aria-label", field.label)
        return formset


def on_site(request: HttpRequest, content_type_id: str, object_id: str) -> HttpResponse:
    """The link “View on site”. Django's own leads all staff to every row, also to orders, by the link of the guest."""
    try:
        kind = ContentType.objects.get(pk=content_type_id)
        page = site.get_model_admin(cast(type[models.Model], kind.model_class()))
    except (ContentType.DoesNotExist, ValueError, NotRegistered):
        raise Http404 from None
    if not page.view_on_site or not page.has_view_permission(request):
        raise Http404
    return shortcut(request, content_type_id, object_id)


def with_language(field: Any, db_field: Any) -> Any:
    """The form field of a language's column with its label: "Options (English)"."""
    if field is not None and hasattr(db_field, "translated_field"):
        field.label = label_in_language(db_field)
    return field


class StaffAdmin(ModelAdmin):
    """A row is locked while a form about it is checked and saved; a row that cannot be deleted says why.

    Without the lock, another manager could publish a sale between the check of a form and its saving.
    """

    actions = ["delete_selected"]
    list_filter_sheet = False

    def reason_to_keep(self, obj: Any) -> str | None:
        """A sentence for staff why `obj` cannot be deleted; None where it can."""
        return None

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        obj = super().get_object(request, object_id, from_field)
        return self.locked([obj.pk]).first() if obj is not None and request.method == "POST" else obj

    def locked(self, pks: list[Any]) -> "models.QuerySet[Any]":
        """The rows, locked until this transaction ends. Rows that refer to them can still be added."""
        rows: models.QuerySet[Any] = self.model._default_manager.filter(pk__in=pks)
        return rows.select_for_update(no_key=True).order_by("pk")

    @action(description=_("Delete"), permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: "models.QuerySet[Any]") -> HttpResponse | None:
        with transaction.atomic():
            chosen = self.locked([obj.pk for obj in queryset])
            reasons = [reason for obj in chosen if (reason := self.reason_to_keep(obj))]
            if not reasons:
                return admin_actions.delete_selected(self, request, queryset)
        for reason in reasons:
            self.message_user(request, reason, messages.ERROR)
        return None

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        with transaction.atomic():
            obj = self.get_object(request, unquote(object_id))
            reason = self.reason_to_keep(obj) if obj is not None else None
            if reason is None or not self.has_delete_permission(request, obj):
                return super().delete_view(request, object_id, extra_context)
        self.message_user(request, reason, messages.ERROR)
        return redirect(self.page_of(obj))

    def page_of(self, obj: models.Model) -> str:
        """The address of the page where `obj` is edited."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[obj.pk])

    def page_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is not None and self.reason_to_keep(obj):
            context["show_delete"] = False
        return context
