"""Tables that staff download and upload, as CSV or XLSX.

A spreadsheet program computes cells that begin like a formula, so a product's name could run one on the computer
of the reader. Such cells get an apostrophe in front, and lose it when the file comes back. Phone numbers are left as
they are: programs of carriers read them.
"""

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import tablib
from django.conf import settings
from import_export.formats.base_formats import CSV, XLSX
from openpyxl import load_workbook

if TYPE_CHECKING:

    class TableFormat:
        """django-import-export has no types; this is what its formats have."""

        def create_dataset(self, in_stream: Any, **options: Any) -> tablib.Dataset: ...

        def export_data(self, dataset: tablib.Dataset, **options: Any) -> Any: ...
else:
    TableFormat = object

# Where Chinese or Japanese is typed, a spreadsheet takes full-width signs for the plain ones.
FORMULA_STARTS = (*"=+-@\t\r\n", *"＝＋－＠")
MARK = "'"
PHONE = re.compile(r"\+[0-9][0-9 ().]*")
# A small XLSX can unpack to gigabytes, and can name one cell so far away that millions would lie before it.
UNPACKED_FACTOR_MAX = 30
COLUMNS_MAX = 100
# Of the format.
ROW_NUMBER_MAX = 1_048_576


class TooLarge(ValueError):
    """More rows or bytes than the shop reads in one request."""


class WithoutFormulas(TableFormat):
    """Before a format of django-import-export."""

    def create_dataset(self, in_stream: Any, **options: Any) -> tablib.Dataset:
        table = super().create_dataset(in_stream, **options)
        if len(table) > settings.IMPORT_ROWS_MAX:
            raise TooLarge(f"{len(table)} rows")
        return mapped(table, without_mark)

    def export_data(self, dataset: tablib.Dataset, **options: Any) -> Any:
        return super().export_data(mapped(dataset, with_mark), **options)


class SafeCSV(WithoutFormulas, CSV):  # type: ignore[misc]
    def create_dataset(self, in_stream: Any, **options: Any) -> tablib.Dataset:
        """In many countries spreadsheet programs write semicolons between columns. No column has one in its name."""
        head = str(in_stream.partition(b"\n" if isinstance(in_stream, bytes) else "\n")[0])
        more = {"delimiter": ";"} if ";" in head and "," not in head else {}
        return super().create_dataset(in_stream, **more, **options)


class SafeXLSX(WithoutFormulas, XLSX):  # type: ignore[misc]
    def create_dataset(self, in_stream: Any, **options: Any) -> tablib.Dataset:
        try:
            with ZipFile(BytesIO(in_stream)) as parts:
                unpacked = sum(part.file_size for part in parts.infolist())
        except BadZipFile as error:
            raise ValueError("not an XLSX file") from error
        if unpacked > UNPACKED_FACTOR_MAX * settings.IMPORT_BYTES_MAX:
            raise TooLarge(f"{unpacked} bytes when unpacked")
        return mapped(read_sheet(in_stream), without_mark)


def read_sheet(content: bytes) -> tablib.Dataset:
    """The first sheet's cells below a heading, of rows that have any. Raises TooLarge."""
    book = load_workbook(BytesIO(content), read_only=True, data_only=True)
    rows = book.worksheets[0].iter_rows(values_only=True, max_col=COLUMNS_MAX)
    headers = [str(cell) if cell is not None else "" for cell in next(rows, ())]
    while headers and not headers[-1]:
        headers.pop()
    table = tablib.Dataset(headers=headers)
    for number, row in enumerate(rows, 2):
        cells = row[: len(headers)]
        # A row that was emptied and not removed is an empty row in the file.
        if any(cell not in (None, "") for cell in cells):
            table.append(cells)
        if len(table) > settings.IMPORT_ROWS_MAX or number > ROW_NUMBER_MAX:
            raise TooLarge(f"{number} rows")
    return table


def mapped(table: tablib.Dataset, change: Any) -> tablib.Dataset:
    made = tablib.Dataset(headers=table.headers, title=table.title)
    made.extend([change(cell) for cell in row] for row in table)
    return made


def with_mark(cell: Any) -> Any:
    """Numbers are left alone: -5 as text in a column of numbers is still a number."""
    if isinstance(cell, str) and cell.startswith((*FORMULA_STARTS, MARK)) and not is_number(cell):
        return cell if PHONE.fullmatch(cell) else MARK + cell
    return cell


def without_mark(cell: Any) -> Any:
    if isinstance(cell, str) and "\0" in cell:
        raise ValueError("a NUL, which PostgreSQL cannot store")
    if isinstance(cell, str) and cell.startswith(MARK) and cell[1:].startswith((*FORMULA_STARTS, MARK)):
        return cell[1:]
    return cell


def is_number(cell: str) -> bool:
    return cell.removeprefix("-").replace(".", "", 1).isdecimal()
