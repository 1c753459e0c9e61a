"""The buttons on the page of an order, and the pages behind them: the actions of the list, for one order."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from orders.models import Order
from orders.staff.order_actions import CANCEL, COMPLETE, PAY, REFUND, SHIP, OrderActions, StatusChange, numbers_of


@dataclass(frozen=True, slots=True)
class Step:
    """A button. `action` is the method that runs it, `ask` a sentence for a page that asks first.

    Without `ask` the action has a page of its own that asks.
    """

    title: str | Promise
    action: str
    change: StatusChange
    ask: str | Promise = ""


STEPS = {
    "record-payment": Step(_("Record payment received"), "record_payment", PAY),
    "ship": Step(
        _("Mark as shipped"), "ship_orders", SHIP, _("The goods have left. The buyer sees the order as shipped.")
    ),
    "complete": Step(_("Mark as completed"), "complete_orders", COMPLETE, _("The buyer has received the goods.")),
    "refund": Step(_("Refund"), "refund_orders", REFUND),
    "cancel": Step(_("Cancel and put units back on sale"), "cancel_orders", CANCEL),
}


class OrderPage(OrderActions):
    """The page of one order with its buttons."""

    change_form_outer_before_template = "admin/orders/order/buttons.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.step_view)
        return [path("<int:order_id>/<slug:step>/now/", view, name="orders_order_step"), *super().get_urls()]

    def step_view(self, request: HttpRequest, order_id: int, step: str) -> HttpResponse:
        """Ask first; a POST changes the order. What was done, or why not, is said on the order's page."""
        if step not in STEPS:
            raise Http404
        if not self.has_manage_permission(request):
            raise PermissionDenied
        order, chosen = get_object_or_404(Order, pk=order_id), STEPS[step]
        if request.method != "POST" and not is_possible(chosen.change.possible, order):
            text = chosen.change.skipped_text(1) % {"count": 1}
            self.message_user(request, f"{text} ({numbers_of([order])})", messages.WARNING)
            return redirect(page_of(order))
        if request.method != "POST" and chosen.ask:
            return self.ask_about(request, order, chosen)
        answer: HttpResponse | None = getattr(self, chosen.action)(request, Order.objects.filter(pk=order.pk))
        return answer or redirect(page_of(order))

    def ask_about(self, request: HttpRequest, order: Order, step: Step) -> HttpResponse:
        choice = self.choice_of(Order.objects.filter(pk=order.pk), step.change)
        return self.ask(request, choice, "admin/orders/order/step.html", title=step.title, sentence=step.ask)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Order | None = None,
    ) -> HttpResponse:
        context["buttons"] = buttons_of(obj) if obj and self.has_manage_permission(request) else []
        return super().render_change_form(request, context, add, change, form_url, obj)


def buttons_of(order: Order) -> list[dict[str, Any]]:
    """The steps that the order's status allows."""
    return [
        {"title": step.title, "url": reverse("admin:orders_order_step", args=[order.pk, name])}
        for name, step in STEPS.items()
        if is_possible(step.change.possible, order)
    ]


def is_possible(condition: Q, order: Order) -> bool:
    return Order.objects.filter(condition, pk=order.pk).exists()


def page_of(order: Order) -> str:
    return reverse("admin:orders_order_change", args=[order.pk])
