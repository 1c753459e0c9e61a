"""The buttons on the page of an order, and the pages behind them: the actions of the list, for one order, and more."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from orders.life import lifecycle
from orders.life.lifecycle import RefundOutcome
from orders.models import BY_HAND, Order, OrderStatus, Refund
from orders.payments import refunds
from orders.refund_records import captured_payment
from orders.staff.order_actions import (
    CANCEL,
    COMPLETE,
    PAY,
    REFUND,
    SHIP,
    StatusChange,
    not_changed_text,
)
from orders.staff.order_corrections import OrderCorrections, button
from orders.staff.order_forms import TrackingForm
from orders.staff.order_refund import PaidBackForm, RefundForm, ask_another, history_of, make_refund
from orders.staff.read_only_admin import amount_text, page_of


@dataclass(frozen=True, slots=True)
class Step:
    """A button that moves the order on. `run` is a method: it asks, or does it and returns None."""

    title: str | Promise
    run: Callable[["OrderPage", HttpRequest, Order], HttpResponse | None]
    change: StatusChange
    # For those who pack, too. Other steps are about money.
    is_shipping: bool = False


class OrderPage(OrderCorrections):
    change_form_outer_before_template = "admin/orders/order/buttons.html"

    def get_urls(self) -> list[URLPattern]:
        staff_only = self.admin_site.admin_view
        return [
            path("<int:order_id>/<slug:step>/now/", staff_only(self.step_view), name="orders_order_step"),
            *super().get_urls(),
        ]

    def step_view(self, request: HttpRequest, order_id: int, step: str) -> HttpResponse:
        """Ask first; a POST changes the order. The order's page then says whether it was done, or why not."""
        if step not in STEPS:
            raise Http404
        chosen = STEPS[step]
        order = self.order_to_change(request, order_id, ships=chosen.is_shipping)
        is_possible = Order.objects.filter(chosen.change.possible, pk=order.pk)
        if request.method != "POST" and not is_possible.exists():
            self.message_user(request, not_changed_text(chosen.change, [order]), messages.WARNING)
            return redirect(page_of(order))
        return chosen.run(self, request, order) or redirect(page_of(order))

    def ship(self, request: HttpRequest, order: Order) -> HttpResponse | None:
        form = TrackingForm(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self.ask_with_form(request, order, form, title=SHIP_TITLE, sentence=_("The goods have left."))
        note = partial(self.log_change, request, order, form.history)
        if lifecycle.ship(order_id=order.pk, on_done=note, **form.cleaned_data):
            self.message_user(request, SHIP.done_text(1) % {"count": 1}, messages.SUCCESS)
        else:
            self.message_user(request, not_changed_text(SHIP, [order]), messages.WARNING)
        return None

    def complete(self, request: HttpRequest, order: Order) -> HttpResponse | None:
        if request.method != "POST":
            sentence = _("The buyer has received the goods.")
            return self.ask_with_form(request, order, forms.Form(), title=COMPLETE_TITLE, sentence=sentence)
        return self.listed_action(request, order, "complete_orders")

    def refund(self, request: HttpRequest, order: Order) -> HttpResponse | None:
        """Ask how much; all that is left ends the order."""
        form = RefundForm(order, request.POST if request.method == "POST" else None)
        if request.method == "POST" and not form.left_minor:
            self.message_user(request, not_changed_text(REFUND, [order]), messages.WARNING)
            return None
        if not form.is_valid():
            sentence = _(
                "Payments made through a payment company are refunded automatically. Payments that staff recorded "
                "must be paid back by staff."
            )
            return self.ask_with_form(request, order, form, title=REFUND_TITLE, sentence=sentence)
        outcome = make_refund(request, form, on_done=partial(self.log_change, request, order, history_of(form)))
        if outcome is RefundOutcome.STARTED:
            self.message_user(request, history_of(form), messages.SUCCESS)
            if captured_payment(order) is None:
                said = _("Pay this money back to the buyer now, then press “%(button)s”.")
                self.message_user(request, said % {"button": PAID_BACK_TITLE}, messages.WARNING)
        elif outcome is RefundOutcome.ABOVE_BOUND:
            self.message_user(request, *ask_another(request, form))
        elif outcome is RefundOutcome.REPEATED:
            self.message_user(request, _("This refund was made before; it is not made twice."), messages.INFO)
        else:
            self.message_user(request, _("Nothing was refunded: the order has changed meanwhile."), messages.WARNING)
        return None

    @transaction.atomic
    def paid_back(self, request: HttpRequest, order: Order) -> HttpResponse | None:
        """Staff have paid the refunds back that no provider pays."""
        form = PaidBackForm(order, request.POST if request.method == "POST" else None)
        if not form.is_valid():
            sentence = _("You have paid %(amount)s back to the buyer.") % {"amount": form.owed_text}
            return self.ask_with_form(request, order, form, title=PAID_BACK_TITLE, sentence=sentence)
        sent = form.cleaned_data
        refund_ids = [refund.pk for refund in sent["refunds"]]
        paid = refunds.paid_by_staff(refund_ids=refund_ids, order_id=order.pk, reference=sent["reference"])
        for refund in paid:
            said = _("%(amount)s paid back, reference “%(reference)s”.") % {
                "amount": amount_text(refund.amount_minor, refund.currency),
                "reference": sent["reference"],
            }
            self.log_change(request, order, said)
        if paid:
            self.message_user(request, PAID_BACK.done_text(len(paid)) % {"count": len(paid)}, messages.SUCCESS)
        else:
            self.message_user(request, not_changed_text(PAID_BACK, [order]), messages.WARNING)
        return None

    def listed_action(self, request: HttpRequest, order: Order, name: str) -> HttpResponse | None:
        """An action of the list, with its own page that asks."""
        answer: HttpResponse | None = getattr(self, name)(request, Order.objects.filter(pk=order.pk))
        return answer

    def page_context(self, request: HttpRequest, obj: Order | None) -> dict[str, Any]:
        return {**super().page_context(request, obj), "buttons": self.buttons_of(request, obj) if obj else []}

    def buttons_of(self, request: HttpRequest, order: Order) -> list[dict[str, Any]]:
        """The actions that the order's status allows, then those that are always possible."""
        slip_url = f"{reverse('admin:orders_ordertopack_packing_slips')}?orders={order.pk}"
        manages, ships = self.has_manage_permission(request), self.has_ship_permission(request)
        return [
            *(
                button(step.title, "step", order.pk, name)
                for name, step in STEPS.items()
                if getattr(order, condition_of(name)) and (manages or (ships and step.is_shipping))
            ),
            *self.corrections_of(request, order),
            {"title": _("Packing slip"), "url": slip_url},
            # On a phone it is far below.
            {"title": _("What happened"), "url": "#timeline-heading"},
        ]


SHIP_TITLE = gettext_lazy("Mark as shipped")
COMPLETE_TITLE = gettext_lazy("Mark as completed")
REFUND_TITLE = gettext_lazy("Refund")
PAID_BACK_TITLE = gettext_lazy("Refund paid back")
PAID_BACK = StatusChange(
    run=refunds.paid_by_staff,
    possible=Q(Exists(Refund.objects.filter(BY_HAND, order=OuterRef("pk")))),
    history="",
    done_text=lambda n: ngettext(
        "%(count)d refund is marked as paid back.", "%(count)d refunds are marked as paid back.", n
    ),
    skipped_text=lambda n: ngettext(
        "%(count)d order has no refund that staff have to pay.",
        "%(count)d orders have no refund that staff have to pay.",
        n,
    ),
)
# Also where the provider has refused the last part.
REFUNDABLE_AGAIN = REFUND.possible | Q(status=OrderStatus.REFUND_DUE, refunded_minor__lt=F("amount_minor"))

STEPS = {
    "record-payment": Step(
        gettext_lazy("Record payment received"),
        lambda page, request, order: page.listed_action(request, order, "record_payment"),
        PAY,
    ),
    "ship": Step(SHIP_TITLE, OrderPage.ship, SHIP, is_shipping=True),
    "complete": Step(COMPLETE_TITLE, OrderPage.complete, COMPLETE, is_shipping=True),
    "refund": Step(REFUND_TITLE, OrderPage.refund, replace(REFUND, possible=REFUNDABLE_AGAIN)),
    "paid-back": Step(PAID_BACK_TITLE, OrderPage.paid_back, PAID_BACK),
    "cancel": Step(
        gettext_lazy("Cancel and release the units"),
        lambda page, request, order: page.listed_action(request, order, "cancel_orders"),
        CANCEL,
    ),
}


def condition_of(name: str) -> str:
    """The name under which `possible_steps` tells whether the order allows a step."""
    return f"can_{name.replace('-', '_')}"


def possible_steps() -> dict[str, Case]:
    """Annotations of the order that say which steps it allows, so that its page need not ask for each."""
    return {
        condition_of(name): Case(When(step.change.possible, then=True), default=False) for name, step in STEPS.items()
    }
