"""The admin's pages that import and export tables: a preview first, errors by line, all rows or none."""

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from import_export.admin import ImportExportMixin
from import_export.resources import ModelResource
from import_export.tmp_storages import CacheStorage
from unfold.contrib.import_export.forms import ExportForm, ImportForm

from shop.staff.admin_base import ModelAdmin
from shop.staff.table_files import SafeCSV, SafeXLSX, TooLarge

if TYPE_CHECKING:
    # django-import-export has no types.
    from django import forms

    class TablePages(ModelAdmin):
        def get_confirm_form_initial(self, request: HttpRequest, import_form: Any) -> Any: ...

        def import_action(self, request: HttpRequest, **kwargs: Any) -> Any: ...

        def choose_import_resource_class(self, form: Any, request: HttpRequest) -> Any: ...

    class UploadForm(forms.Form): ...

    class Table:
        def __init__(self, **options: Any) -> None: ...

        def get_import_fields(self) -> list[Any]: ...

        def validate_instance(self, instance: Any, errors: Any = None, validate_unique: bool = True) -> None: ...

        def save_instance(self, instance: Any, is_create: bool, row: Any, **options: Any) -> None: ...

        def export(self, queryset: Any = None, **options: Any) -> Any: ...

    class UploadCache:
        def save(self, data: Any) -> None: ...

        def read(self) -> Any: ...
else:
    TablePages, Table, UploadForm, UploadCache = ImportExportMixin, ModelResource, ImportForm, CacheStorage


# A second press finds that the first one has imported it.
PREVIEW_GONE = _(
    "This table was imported before, or its preview was too long ago. If its changes are missing, upload it again."
)


class UploadGone(Exception):
    """The uploaded table is no longer kept."""


class CachedUpload(UploadCache):
    """Where an uploaded table waits between its preview and the confirmation: another process may answer that."""

    CACHE_PREFIX = "imported-table-"
    CACHE_LIFETIME = 3600

    def save(self, data: bytes) -> None:
        super().save(b64encode(data).decode("ascii"))

    def read(self) -> bytes:
        kept = super().read()
        if kept is None:
            raise UploadGone
        return b64decode(kept)


class BoundedImportForm(UploadForm):
    def clean_import_file(self) -> Any:
        file = self.cleaned_data["import_file"]
        if file.size > settings.IMPORT_BYTES_MAX:
            raise ValidationError(too_large())
        return file


def too_large() -> str:
    bound = filesizeformat(settings.IMPORT_BYTES_MAX)
    text = _("The file may have %(bytes)s and %(rows)d rows at most. Split it into several files.")
    return str(text % {"bytes": bound, "rows": settings.IMPORT_ROWS_MAX})


class WithTables(TablePages):
    """`resource_classes` are the tables, `import_permissions` the rights to import them."""

    formats = [SafeCSV, SafeXLSX]
    import_form_class = BoundedImportForm
    export_form_class = ExportForm
    tmp_storage_class = CachedUpload
    # The history and the journal of the stock say more than Django's log would.
    skip_admin_log = True
    # Spreadsheet programs know by it that the file is in UTF-8.
    to_encoding = "utf-8-sig"
    resource_classes: list[Any] = []
    import_permissions: tuple[str, ...] = ()

    def has_import_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perms(self.import_permissions)

    def has_export_permission(self, request: HttpRequest) -> bool:
        return self.has_view_or_change_permission(request)

    def add_data_read_fail_error_to_form(self, form: "forms.Form", error: Exception) -> None:
        """In words: the library's own message names the class of the error."""
        if isinstance(error, UnicodeDecodeError):
            text = str(_("The file is not in UTF-8. Save it as “CSV UTF-8” or as XLSX, and choose it again."))
        elif isinstance(error, TooLarge):
            text = too_large()
        else:
            text = str(_("The file could not be read. Choose the format that it has."))
        form.add_error("import_file", text)

    def import_action(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """A table without the column that names its rows: the library would show a trace of its calls."""
        page: Any = super().import_action(request, **kwargs)
        result, form = page.context_data.get("result"), page.context_data["form"]
        if result is not None and result.base_errors:
            del page.context_data["result"]
            names = self.choose_import_resource_class(form, request)._meta.import_id_fields
            text = _(
                "The table has no column “%(name)s”. Its first line must name the columns; in a CSV file, commas "
                "or semicolons separate them."
            )
            form.add_error("import_file", text % {"name": ", ".join(names)})
        answer: HttpResponse = page
        return answer

    def process_import(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().process_import(request, **kwargs)  # type: ignore[misc]
        except UploadGone:
            return self.not_imported(request, [PREVIEW_GONE])
        return response

    def get_import_data_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        """All rows or none, also where something has changed between the preview and the confirmation."""
        kwargs.pop("form", None)
        return {**kwargs, "rollback_on_validation_errors": True}

    def process_result(self, result: Any, request: HttpRequest) -> HttpResponse:
        if not result.has_errors() and not result.has_validation_errors():
            response: HttpResponse = super().process_result(result, request)  # type: ignore[misc]
            return response
        text = _("Nothing was imported, because something has changed since the preview. Look at it again.")
        texts: list[Any] = [text]
        for row in result.invalid_rows[:10]:
            texts.append(_("Line %(line)d: %(error)s") % {"line": row.number, "error": "; ".join(row.error.messages)})
        return self.not_imported(request, texts)

    def not_imported(self, request: HttpRequest, texts: list[Any]) -> HttpResponse:
        """Say why, and offer the upload again."""
        for text in texts:
            self.message_user(request, text, messages.ERROR)
        return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_import"))
