"""The page that asks before a sale is published. Terms that look like a slip of the hand are confirmed one by one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from seckill.live.staff_figures import names_of, units_text
from seckill.models import Sale, SaleItem
from seckill.publication import CannotPublish, draft_terms, publish_sale
from seckill.staff.permissions import AboveBound
from seckill.store import durability
from seckill.store.client import StoreUnreachable
from shop.prices.price_field import price_text
from shop.staff.admin_base import StaffAdmin
from shop.times.timestamps import to_ms
from shop.times.zone import words_for

ALREADY_PUBLISHED = gettext_lazy("“%(sale)s” is already published. Nothing was changed.")
WEAKNESS_ALLOWED = gettext_lazy("Sales can open only because SECKILL_ALLOW_WEAK_DURABILITY is set. %(weakness)s")

# A price that lost a digit is a tenth of the one that was meant.
PER_CENT_OFF_USUAL_MAX = 80
# A family buys a few; a number that means "no limit" is far higher.
PER_BUYER_USUAL_MAX = 20


@dataclass(frozen=True, slots=True)
class Row:
    """An item as the page shows it. `off` is in per cent, rounded down; the stock is of the ordinary shop.

    `name` is the item's among its sale's (`names_of`).
    """

    item: SaleItem
    name: str

    @property
    def ordinary_price(self) -> str:
        return price_text(self.item.variant.price_minor)

    @property
    def price(self) -> str:
        return price_text(self.item.price_minor)

    @property
    def off(self) -> int:
        ordinary = self.item.variant.price_minor
        return (ordinary - self.item.price_minor) * 100 // ordinary if ordinary else 0

    @property
    def quantity(self) -> str:
        return units_text(self.item.quantity)

    @property
    def stock_after(self) -> int:
        """Unlimited units do not come out of the stock."""
        return self.item.variant.available - (self.item.quantity or 0)


@dataclass(frozen=True, slots=True)
class Risk:
    """A point to confirm. The key has the figures in it, so that another price is not confirmed by an old page."""

    key: str
    text: str


def publish_page(
    model_admin: StaffAdmin,
    request: HttpRequest,
    *,
    sale_id: int,
    more_risks: Callable[[Sale], tuple[list[Risk], dict[str, Any]]],
    check: Callable[[Sale], None],
    ask_another: Callable[[HttpRequest, Sale, Sequence[Risk]], None],
) -> HttpResponse:
    """Show the terms and ask for confirmation; only a POST that confirms each risk publishes.

    `more_risks` finds those that an upper floor knows of, and what the page shows about them (`before_template`);
    where its `check` does not let one person publish, `ask_another` asks for the approval of another one.
    """
    with transaction.atomic():
        sale = model_admin.get_object(request, str(sale_id))
    if sale is None:
        raise Http404
    if not model_admin.has_change_permission(request, sale):
        raise PermissionDenied
    if sale.is_published:
        model_admin.message_user(request, ALREADY_PUBLISHED % {"sale": sale}, messages.INFO)
        return redirect(model_admin.page_of(sale))
    rows_of_sale = sale.items.select_related("variant__product").prefetch_related("variant__product__pictures")
    items = list(rows_of_sale.order_by("pk"))
    names = names_of(items)
    rows = [Row(item, names[item.pk]) for item in items]
    others, context_of_others = more_risks(sale)
    risks = [*risks_of(sale, rows, now=timezone.now()), *others]
    confirmed = set(request.POST.getlist("confirmed"))
    if request.method == "POST" and confirmed.issuperset(risk.key for risk in risks):
        seen = request.POST.get("terms")

        def check_draft(draft: Sale) -> None:
            if seen not in (None, draft_terms(draft)):
                raise CannotPublish(_("The draft was changed since. Press “Save and publish …” on its page again."))
            check(draft)

        try:
            publish_and_report(model_admin, request, sale, check=check_draft)
        except AboveBound:
            ask_another(request, sale, risks)
        return redirect(model_admin.page_of(sale))
    context = {
        **model_admin.admin_site.each_context(request),
        **context_of_others,
        "opts": model_admin.opts,
        "title": _("Publish “%(sale)s”?") % {"sale": sale},
        "sale": sale,
        "opens": words_for(sale.opens_at),
        "opens_later": sale.opens_at > timezone.now(),
        "closes": words_for(sale.closes_at),
        "rows": rows,
        "terms": draft_terms(sale, items),
        "too_few": [row for row in rows if row.stock_after < 0],
        "risks": risks,
        "confirmed": confirmed,
        "missing": request.method == "POST",
        "sale_url": reverse("admin:seckill_sale_change", args=[sale.pk]),
    }
    return TemplateResponse(request, "admin/seckill/sale/publish.html", context)


def risks_of(sale: Sale, rows: Iterable[Row], *, now: datetime) -> Iterable[Risk]:
    """What is rarely meant. Too few units in stock are no risk: `publish_sale` refuses them."""
    if sale.opens_at <= now:
        text = _("The opening has passed: %(time)s. The sale opens at once.") % {"time": words_for(sale.opens_at)}
        yield Risk(f"past-{to_ms(sale.opens_at)}", text)
    for row in rows:
        item = row.item
        figures = {
            "product": row.name,
            "price": row.price,
            "ordinary": row.ordinary_price,
            "off": row.off,
            "units": item.per_buyer_max,
        }
        if (item.variant.price_minor - item.price_minor) * 100 > PER_CENT_OFF_USUAL_MAX * item.variant.price_minor:
            text = _("“%(product)s” costs %(price)s instead of %(ordinary)s: %(off)d %% off.")
            yield Risk(f"price-{item.pk}-{item.price_minor}", text % figures)
        if item.quantity is None:
            text = _("“%(product)s” is sold without end, at %(price)s: its quantity is unlimited.")
            yield Risk(f"unlimited-{item.pk}", text % figures)
        if item.per_buyer_max > PER_BUYER_USUAL_MAX:
            text = _("Each buyer may take %(units)d units of “%(product)s”.")
            yield Risk(f"buyer-{item.pk}-{item.per_buyer_max}", text % figures)


def publish_and_report(
    model_admin: StaffAdmin, request: HttpRequest, sale: Sale, *, check: Callable[[Sale], None]
) -> None:
    """Publish the sale and show the result. A published sale is not touched. Raises what `check` does."""
    level = messages.SUCCESS
    try:
        if publish_sale(sale_id=sale.pk, made_by=cast(User, request.user), check=check):
            text = _("“%(sale)s” is published.")
            model_admin.log_change(request, sale, _("Published."))
        else:
            level, text = messages.INFO, str(ALREADY_PUBLISHED)
    except CannotPublish as refusal:
        text = _("“%(sale)s” was not published. %(reason)s") % {"sale": sale, "reason": refusal}
        model_admin.message_user(request, text, messages.ERROR)
        return
    except StoreUnreachable:
        level = messages.WARNING
        text = _("“%(sale)s” is published. It can open as soon as the reservation store is available again.")
    model_admin.message_user(request, text % {"sale": sale}, level)
    for weakness in durability.allowed_weaknesses():
        model_admin.message_user(request, WEAKNESS_ALLOWED % {"weakness": weakness.text}, messages.WARNING)
    for advice in durability.advice():
        model_admin.message_user(request, advice, messages.WARNING)
