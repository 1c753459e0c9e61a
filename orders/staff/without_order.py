"""The page of reservations without an order: a yes that was set aside, or lost, with its reason and what to do."""

from dataclasses import dataclass
from uuid import UUID

import structlog
from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from orders.models import RefusedReceipt
from orders.staff.read_only_admin import may_manage_orders, may_see_orders
from seckill.models import SaleItem, movable_items
from seckill.outbox import dead_letters
from seckill.outbox.dead_letters import DeadLetter
from seckill.store.client import StoreUnreachable
from shop.staff.admin_base import ModelAdmin

log = structlog.get_logger(__name__)

ITEMS_MAX = 1_000
LETTERS_MAX = 100


class DoneForm(forms.Form):
    """What somebody has done about an entry of the page."""

    done = forms.CharField(
        label=gettext_lazy("what was done"),
        max_length=300,
        error_messages={"required": gettext_lazy("Say what was done.")},
    )


class LetterForm(DoneForm):
    item = forms.IntegerField(min_value=1)
    letter = forms.RegexField(r"\A\d{1,19}-\d{1,19}\Z")


class ReceiptForm(DoneForm):
    receipt = forms.UUIDField()


@dataclass(frozen=True, slots=True)
class Row:
    """A letter as the page shows it. `buyer` is None if the entry names no account that exists."""

    letter: DeadLetter
    item: SaleItem
    buyer: User | None


def dead_letter_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """The letters of all items whose sale is not long over, and the receipts of lost reservations.

    A POST says that one is dealt with, and removes it.
    """
    if not may_see_orders(request):
        raise PermissionDenied
    form = None
    if request.method == "POST":
        if not may_manage_orders(request):
            raise PermissionDenied
        form = (ReceiptForm if "receipt" in request.POST else LetterForm)(request.POST)
        if form.is_valid():
            remove = close_receipt if isinstance(form, ReceiptForm) else remove_letter
            remove(model_admin, request, **form.cleaned_data)
            return redirect(request.path)
    found, all_answered = rows()
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": _("Reservations without an order"),
        "rows": found,
        "receipts": open_receipts(),
        "all_answered": all_answered,
        "may_manage": may_manage_orders(request),
        "form": form,
    }
    return TemplateResponse(request, "admin/orders/ordertolookat/dead_letters.html", context)


def rows() -> tuple[list[Row], bool]:
    """The oldest letters, and whether the stores of all items answered."""
    items = {item.pk: item for item in movable_items().select_related("sale", "variant__product")[:ITEMS_MAX]}
    try:
        found = dead_letters.read(item_ids=list(items), count_max=LETTERS_MAX)
    except StoreUnreachable:
        return [], False
    letters = [letter for of_item in found.values() for letter in of_item]
    named = {int(text) for letter in letters if (text := letter.fields.get("buyer", "")).isdecimal() and len(text) < 10}
    buyers = {str(buyer.pk): buyer for buyer in User.objects.filter(pk__in=named)}
    oldest = sorted(letters, key=lambda letter: letter.at)[:LETTERS_MAX]
    listed = [Row(letter, items[letter.item_id], buyers.get(letter.fields.get("buyer", ""))) for letter in oldest]
    return listed, found.keys() == items.keys()


def remove_letter(model_admin: ModelAdmin, request: HttpRequest, *, item: int, letter: str, done: str) -> None:
    """Write into the item's history who dealt with it, then remove it. If the process dies in between, it stays."""
    sale_item = SaleItem.objects.filter(pk=item).first()
    try:
        found = dead_letters.find(item_id=item, letter_id=letter)
        if found is None or sale_item is None:
            model_admin.message_user(request, _("Somebody else has removed it already."), messages.WARNING)
            return
        said = _("Reservation without an order, %(fields)s, %(error)s: %(done)s") % {
            "fields": found.fields,
            "error": found.error,
            "done": done,
        }
        model_admin.log_change(request, sale_item, said)
        dead_letters.remove(item_id=item, letter_id=letter)
    except StoreUnreachable:
        model_admin.message_user(
            request, _("The reservation store does not answer. Nothing was removed; try again."), messages.ERROR
        )
        return
    log.info("dead_letter_removed", item_id=item, letter=letter)
    model_admin.message_user(request, _("Removed from the list, and written into the history."), messages.SUCCESS)


def open_receipts() -> QuerySet[RefusedReceipt]:
    """The oldest lost reservations that nobody has dealt with."""
    waiting = RefusedReceipt.objects.filter(done_at=None).select_related(
        "buyer", "item__sale", "item__variant__product"
    )
    return waiting[:LETTERS_MAX]


def close_receipt(model_admin: ModelAdmin, request: HttpRequest, *, receipt: UUID, done: str) -> None:
    """Write who dealt with it into the item's history. It stays as a row, so it does not come to the list again."""
    with transaction.atomic():
        row = RefusedReceipt.objects.select_related("item").filter(pk=receipt).first()
        if row is None or not RefusedReceipt.objects.filter(pk=receipt, done_at=None).update(done_at=timezone.now()):
            model_admin.message_user(request, _("Somebody else has removed it already."), messages.WARNING)
            return
        # Without the buyer's name: the history is kept for longer than the account.
        said = _("Lost reservation %(reservation)s: %(done)s") % {"reservation": row.pk, "done": done}
        model_admin.log_change(request, row.item, said)
    log.info("refused_receipt_closed", item_id=row.item_id, reservation=str(row.pk))
    model_admin.message_user(request, _("Removed from the list, and written into the history."), messages.SUCCESS)
