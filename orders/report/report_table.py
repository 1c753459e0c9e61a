"""The report as a file: a row for each figure, so that a program can sort and filter them.

Names are those of the API and the same in each language; times have their offset.
"""

from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any

import tablib
from django.conf import settings
from django.utils import timezone

from orders.report.report_charts import steps_of
from orders.report.sale_report import Report
from seckill.live.answer_counts import WORDS
from shop.prices.money import to_text
from shop.staff.table_files import SafeCSV, SafeXLSX

FORMATS: dict[str, Any] = {"csv": SafeCSV, "xlsx": SafeXLSX}
COLUMNS = ("part", "sku", "at", "name", "value")
MONEY = ("revenue_minor", "refunded_minor")
Row = tuple[str, str, str, str, Any]


def file_of(report: Report, *, kind: str, with_money: bool) -> tuple[bytes, str]:
    """The contents and their type. Without `with_money` there are no amounts."""
    table = tablib.Dataset(headers=COLUMNS)
    table.extend(rows_of(report, with_money=with_money))
    chosen = FORMATS[kind]()
    contents = chosen.export_data(table)
    # Spreadsheet programs know by the mark that the file is in UTF-8.
    made = contents if isinstance(contents, bytes) else contents.encode("utf-8-sig")
    return made, chosen.get_content_type()


def rows_of(report: Report, *, with_money: bool) -> Iterator[Row]:
    yield from sale_rows(report)
    for row in report.rows:
        sku = row.item.variant.sku
        yield "item", sku, "", "product", row.name
        yield "item", sku, "", "offered_units", "" if row.offered is None else row.offered
        yield "item", sku, "", "asked", "" if row.asked is None else row.asked
        yield "item", sku, "", "sold_units", row.sold
        yield "item", sku, "", "sold_again_units", row.sold_again
        for each in fields(row.units):
            value = getattr(row.units, each.name)
            if each.name not in MONEY:
                yield "item", sku, "", each.name, value
            elif with_money:
                yield (
                    "item",
                    sku,
                    "",
                    each.name.removesuffix("_minor"),
                    to_text(minor=value, currency=settings.CURRENCY),
                )
        for word, count in (report.sums.answers or {}).get(row.item.pk, {}).items():
            yield "answers" if word in WORDS else "refusals", sku, "", word, count
        start = report.curve.start
        for number, reserved in enumerate(report.curve.units[row.item.pk]):
            at = start + timedelta(seconds=report.curve.step_seconds * number)
            yield "reserved_units", sku, time_text(at), f"{report.curve.step_seconds}_seconds", reserved
    yield from winner_rows(report)
    for fault in report.faults:
        yield "faults", "", time_text(fault.since) if fault.since else "", fault.kind, fault.value
    for at, counts in steps_of(report.sums):
        yield from (("answers_by_time", "", time_text(at), word, count) for word, count in counts.items() if count)
    yield from (("buyers_by_country", "", "", country, count) for country, count in report.sums.countries.items())
    yield from (("buyers_by_language", "", "", language, count) for language, count in report.sums.languages.items())


def winner_rows(report: Report) -> Iterator[Row]:
    winners = report.winners
    for first, last, won in winners.by_second:
        name = f"second_{first}_to_{last or 'end'}"
        yield "units_by_second", "", "", name, won.units
        yield "paid_units_by_second", "", "", name, won.paid_units
    for age, won in winners.by_age.items():
        yield "units_by_account_age", "", "", age, won.units
        yield "paid_units_by_account_age", "", "", age, won.paid_units
    yield from (("units_by_arrival", "", "", when, units) for when, units in report.sums.arrivals.items())
    yield from (("units_by_network", "", "", name, count) for name, count in report.sums.networks.items())
    if winners.draw:
        yield from (("draw", "", "", each.name, getattr(winners.draw, each.name)) for each in fields(winners.draw))


def sale_rows(report: Report) -> Iterator[Row]:
    sale, times = report.sale, report.times
    yield "sale", "", "", "name", sale.name
    yield "sale", "", time_text(sale.opens_at), "opens_at", ""
    yield "sale", "", time_text(sale.closes_at), "closes_at", ""
    yield "sale", "", time_text(report.made_at), "report_made_at", ""
    yield "sale", "", "", "buyers", report.sums.buyers
    for name, lasted in (
        ("seconds_to_pay_median", times.pay_median),
        ("seconds_to_pay_p90", times.pay_p90),
        ("seconds_from_yes_to_order_max", times.order_lag),
    ):
        yield "sale", "", "", name, "" if lasted is None else round(lasted.total_seconds(), 1)
    if report.more_stock:
        yield "sale", "", "", "units_with_twice_the_stock_estimated", report.more_stock.in_all


def time_text(at: Any) -> str:
    return timezone.localtime(at).isoformat(sep=" ", timespec="seconds")
