"""What staff do: change a running sale, fill in its page, read the messages."""

import csv
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import BY_HAND, Order, Refund, Rehearsal
from orders.payments import refunds
from orders.preflight.finding import Finding
from orders.preflight.kept import keep_result
from orders.rehearsal.crowd import Answer
from orders.rehearsal.rehearsal_report import Sample, Seen, made_report
from orders.report.sale_report import Report
from orders.report.sale_report import report_of as sale_report_of
from seckill.changes.journal import make_change
from seckill.changes.rules import OF_ITEM
from seckill.models import Sale, SaleChange, SaleItem
from seckill.publication import draft_terms
from shop.models import Product
from tests.steps.shop import variant_of

EVENTS = "/admin/orders/paymentevent/"
LOOK_AT = "/admin/orders/ordertolookat/"
MAILS = "/admin/orders/mail/"
ORDERS = "/admin/orders/order/"
TO_PACK = "/admin/orders/ordertopack/"
TOMORROW = timezone.now().replace(microsecond=0) + timedelta(days=1)


def employee(*codenames: str) -> User:
    """Somebody of the staff who has these rights and no others."""
    employee = User.objects.create_user("employee", is_staff=True)
    employee.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return employee


def target_of(item: SaleItem, kind: SaleChange.Kind) -> dict[str, int]:
    """Some kinds change the item, the others its sale."""
    return {"item_id": item.pk} if kind in OF_ITEM else {"sale_id": item.sale_id}


def change(item: SaleItem, kind: SaleChange.Kind, **more: Any) -> SaleChange:
    """Change the item, or its sale of one item. Returns the entry of the journal."""
    (entry,) = make_change(**{"kind": kind, "reason": "because", "made_by": None, **target_of(item, kind), **more})
    item.refresh_from_db()
    return entry


def control_page(item: SaleItem, kind: SaleChange.Kind) -> str:
    """The form with which staff change the item, or its sale."""
    item_ids = [item.pk] if "item_id" in target_of(item, kind) else []
    return reverse("admin:seckill_sale_control", args=[item.sale_id, kind.value, *item_ids])


def control_form(**fields: Any) -> dict[str, Any]:
    return {"token": str(uuid4()), "reason": "a second delivery", **fields}


def admin_page(row: Model) -> str:
    """The page on which staff change a row."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def slips_page(*orders: Order) -> str:
    """The packing slips of these orders, to be printed."""
    return f"{reverse('admin:orders_ordertopack_packing_slips')}?orders={','.join(str(order.pk) for order in orders)}"


def customer_page(person: User) -> str:
    """The page on which staff change the account of a person without rights."""
    return reverse("admin:shop_customer_change", args=[person.pk])


def publish_page(sale: Sale) -> str:
    return reverse("admin:seckill_sale_publish", args=[sale.pk])


def was_checked(sale: Sale, *findings: Finding) -> None:
    """As after a pre-flight that found these; without any, the sale is ready."""
    keep_result(sale.pk, {0: list(findings)}, terms=draft_terms(sale))


def confirm_and_publish(client: Client, sale: Sale, **more: Any) -> Any:
    """Staff read the page, check each of its boxes and publish."""
    page = publish_page(sale)
    confirmed = [risk.key for risk in client.get(page).context["risks"]]
    return client.post(page, {"confirmed": confirmed}, follow=True, **more)


def filled_form(
    *rows: dict[str, Any],
    name: str = "Autumn sale",
    opens_at: datetime = TOMORROW,
    closes_at: datetime = TOMORROW + timedelta(hours=1),
    hold_seconds: int = 900,
    late_payment: str = "take_again",
    saved_rows: int = 0,
    admission: str = "first_come",
) -> dict[str, Any]:
    """What the browser posts: the sale, and a row for each item; `saved_rows` of them are stored."""
    data: dict[str, Any] = {
        "name_en": name,
        "name_zh_hans": "",
        "opens_at_0": opens_at.strftime("%Y-%m-%d"),
        "opens_at_1": opens_at.strftime("%H:%M:%S"),
        "closes_at_0": closes_at.strftime("%Y-%m-%d"),
        "closes_at_1": closes_at.strftime("%H:%M:%S"),
        "hold_seconds": hold_seconds,
        "admission": admission,
        "late_payment": late_payment,
        "items-TOTAL_FORMS": len(rows),
        "items-INITIAL_FORMS": saved_rows,
    }
    for number, row in enumerate(rows):
        data |= {f"items-{number}-{field}": value for field, value in row.items()}
    return data


def row_of(item_product: Product, /, **changes: Any) -> dict[str, Any]:
    """A row for a new item that breaks no rule."""
    return {"variant": variant_of(item_product).pk, "price_minor": "19.00", "quantity": 5, "per_buyer_max": 1} | changes


def row_of_saved(item: SaleItem, **changes: Any) -> dict[str, Any]:
    """The row of an item that is in the database, as the page shows it."""
    return row_of(item.product, id=item.pk, sale=item.sale_id) | changes


def form_of(sale: Sale, *rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The page of a saved sale as it is shown, with `changes`."""
    shown: dict[str, Any] = {
        "name": sale.name,
        "opens_at": sale.opens_at,
        "closes_at": sale.closes_at,
        "hold_seconds": sale.hold_seconds,
        "admission": sale.admission,
        "late_payment": sale.late_payment,
        "saved_rows": len(rows),
    }
    return filled_form(*rows, **(shown | changes))


def errors_of_sale(response: Any) -> dict[str, list[str]]:
    return dict(response.context["adminform"].form.errors)


def errors_of_rows(response: Any) -> list[dict[str, list[str]]]:
    formset = response.context["inline_admin_formsets"][0].formset
    return [dict(form.errors) for form in formset.forms]


def staff_pay_back(order: Order) -> list[Refund]:
    """Staff say that they have paid back what no provider pays. Returns what they had to pay."""
    owed = list(order.refunds.filter(BY_HAND).values_list("pk", flat=True))
    return refunds.paid_by_staff(refund_ids=owed, order_id=order.pk, reference="BACK-1")


def messages_on(response: Any) -> list[str]:
    """The messages that the page shows, or that an answer leaves for the page to which it leads."""
    stored: Any = get_messages(response.wsgi_request)
    found = response.context["messages"] if response.context else stored._queued_messages
    return [str(message) for message in found]


def press_button(client: Client, order: Order, step: str, **sent: Any) -> Any:
    """A button on the page of an order, confirmed. The answer leads back to that page, or asks again."""
    return client.post(f"{ORDERS}{order.pk}/{step}/now/", {"confirmed": "yes", **sent})


def mark_resolved(client: Client, *orders: Order) -> None:
    client.post(f"{LOOK_AT}?todo=all", {"action": "mark_resolved", "_selected_action": [order.pk for order in orders]})


def record_payment(client: Client, order: Order, amount: str = "19.00", reference: str = "TX-1") -> Any:
    received = {f"order-{order.pk}-amount": amount, f"order-{order.pk}-reference": reference}
    return press_button(client, order, "record-payment", **received)


def sale_report(item: SaleItem) -> Report:
    """The report of the item's sale, as it is in the database now."""
    return sale_report_of(Sale.objects.get(pk=item.sale_id))


def report_page(item: SaleItem) -> str:
    return f"/admin/seckill/sale/{item.sale_id}/report/"


def report_file(item: SaleItem, kind: str) -> str:
    return f"/admin/seckill/sale/{item.sale_id}/report.{kind}"


def report_rows(client: Client, item: SaleItem) -> dict[tuple[str, str], str]:
    """Of the file for spreadsheets: values by part and name."""
    rows = csv.DictReader(StringIO(client.get(report_file(item, "csv")).content.decode("utf-8-sig")))
    return {(row["part"], row["name"]): row["value"] for row in rows}


def report_of(item: SaleItem, *, yes: int = 5, **more: Any) -> dict[str, Any]:
    """Of a rehearsal with 20 buyers and 5 units that went well, but for `more`."""
    rehearsal = Rehearsal(pk=1, sale=item.sale, buyers=20, items=[[item.pk, 5]])
    (shadow_id,) = rehearsal.shadow_ids
    words = ["reserved"] * yes + ["sold_out"] * (20 - yes)
    answers = [Answer(shadow_id, word, 0.02, 100.0 + n / 10, 1, str(uuid4())) for n, word in enumerate(words)]
    seen = Seen(starts_s=100.0, rush_ends_s=102.0, written_s=102.5, answers=answers, unpaid=2)
    seen.samples = [Sample(at_s, 0, 2, 3, 0, True) for at_s in (0.5, 1.0, 8.0)]
    return {**made_report(rehearsal, seen), **more}


def was_rehearsed(item: SaleItem) -> Rehearsal:
    return Rehearsal.objects.create(sale=item.sale, buyers=20, status=Rehearsal.Status.DONE, report=report_of(item))
