"""Tables that staff upload and download in the admin: a preview, a confirmation, errors by line."""

import csv
from collections.abc import Mapping
from io import BytesIO, StringIO
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from openpyxl import Workbook

CSV, XLSX = "0", "1"


def upload(client: Client, page: str, *rows: dict[str, Any], table: str = "0", **form: Any) -> Any:
    """The first step: the answer is the preview, or the form with its errors."""
    data = {"format": CSV, "resource": table} | form
    if rows:
        data["import_file"] = SimpleUploadedFile("table.csv", csv_of(*rows).encode("utf-8-sig"), "text/csv")
    return client.post(f"{page}import/", data)


def upload_xlsx(client: Client, page: str, *rows: Mapping[str, Any]) -> Any:
    """The first step with a spreadsheet, in which a number is a number."""
    book, content = Workbook(), BytesIO()
    for cells in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(cells)
    book.save(content)
    return upload(client, page, format=XLSX, import_file=SimpleUploadedFile("table.xlsx", content.getvalue()))


def confirm(client: Client, page: str, preview: Any, *, follow: bool = True) -> Any:
    """The second step, as the button of the preview posts it. It leads to the list, or to another upload."""
    return client.post(f"{page}process_import/", preview.context["confirm_form"].initial, follow=follow)


def bring(client: Client, page: str, *rows: dict[str, Any], table: str = "0") -> None:
    preview = upload(client, page, *rows, table=table)
    assert not errors_by_line(preview)
    assert confirm(client, page, preview, follow=False)["Location"] == page


def errors_by_line(preview: Any) -> dict[int, list[str]]:
    result = preview.context["result"]
    errors = {row.number: [str(message) for message in row.error.messages] for row in result.invalid_rows}
    return errors | {row.number: [str(error.error) for error in row.errors] for row in result.error_rows}


def csv_of(*rows: dict[str, Any]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def export(client: Client, page: str, query: str = "", *, table: str = "0", file_format: str = CSV) -> Any:
    return client.post(f"{page}export/{query}", {"format": file_format, "resource": table})


def exported(client: Client, page: str, query: str = "", *, table: str = "0") -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(export(client, page, query, table=table).content.decode("utf-8-sig"))))
