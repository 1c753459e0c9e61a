"""The pages where staff change a running sale: a form with a preview; a POST makes the change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from seckill.changes.journal import make_change
from seckill.changes.rules import OF_ITEM, WHILE_RUNNING, CannotChange, Kind, state_after_pending
from seckill.changes.texts import entry_to_report, request_text, result_message
from seckill.live.staff_figures import name_of
from seckill.models import Sale, SaleChange, SaleItem
from seckill.staff.change_form import ChangeForm, form_for
from seckill.staff.change_preview import as_typed, in_stock, preview_of, preview_texts
from seckill.staff.permissions import AboveBound

LEVELS = {
    SaleChange.Status.APPLIED: messages.SUCCESS,
    SaleChange.Status.PENDING: messages.WARNING,
    SaleChange.Status.REFUSED: messages.ERROR,
}

TITLES = {
    Kind.ADD_UNITS: _("Add units"),
    Kind.WITHDRAW_UNITS: _("Withdraw units"),
    Kind.UNITS_PER_BUYER: _("Units per buyer"),
    Kind.PAUSE_ITEM: _("Pause this item"),
    Kind.RESUME_ITEM: _("Resume this item"),
    Kind.PAUSE: _("Pause the sale"),
    Kind.RESUME: _("Resume the sale"),
    Kind.MOVE_END: _("Move the closing time"),
    Kind.END_NOW: _("End now"),
    Kind.PACE: _("Change the pace"),
}

# Hints for staff before they press the button.
HINTS = {
    Kind.ADD_UNITS: _("The added units go on sale immediately."),
    Kind.WITHDRAW_UNITS: _("Only units that are left can be withdrawn. Held and sold units stay with their buyers."),
    Kind.UNITS_PER_BUYER: _("Held and bought units both count. Buyers keep the units they already have."),
    Kind.PAUSE_ITEM: _(
        "No one can reserve this item until it is resumed; the others sell on. Buyers can still pay for units they "
        "hold, until their deadline."
    ),
    Kind.RESUME_ITEM: _("If the sale is open and not paused, buyers can reserve this item again immediately."),
    Kind.PAUSE: _(
        "No one can reserve until the sale is resumed. Buyers can still pay for units they hold, until their deadline."
    ),
    Kind.RESUME: _("If the sale is open, buyers can reserve again immediately. Items that are paused alone stay so."),
    Kind.MOVE_END: _(
        "A later time extends the sale, an earlier one shortens it. Buyers can still pay for units they hold, until "
        "their deadline."
    ),
    Kind.END_NOW: _("No one can reserve any more. Buyers can still pay for units they hold, until their deadline."),
    Kind.PACE: _(
        "From the next second on, so many people are let in a minute, but no more at a time than there are units left. "
        "Places stay as they are."
    ),
}

BEFORE_OPENING = {
    Kind.ADD_UNITS: _("The added units go on sale at the opening."),
    Kind.RESUME: _("Buyers can reserve from the opening on."),
}

# Must be found at once: amber and red.
LOOKS = {
    Kind.PAUSE: ("ghost", "button-pause"),
    Kind.PAUSE_ITEM: ("ghost", "button-pause"),
    Kind.END_NOW: ("danger", ""),
}
DANGEROUS = frozenset({Kind.END_NOW, Kind.WITHDRAW_UNITS})


@dataclass(frozen=True, slots=True)
class Button:
    """A link to one of the pages. `look` and `style` are the theme's variant of a button and a class of ours."""

    title: str
    url: str
    look: str = "default"
    style: str = ""


def is_over(sale: Sale) -> bool:
    return state_after_pending(sale).closes_at <= timezone.now()


def buttons_of(sale: Sale) -> list[Button]:
    """The changes that are possible now for a published sale."""
    now, state = timezone.now(), state_after_pending(sale)
    kinds = [Kind.MOVE_END] if state.closes_at <= now else [Kind.PAUSE, Kind.MOVE_END, Kind.END_NOW]
    if state.paused:
        kinds = [Kind.RESUME, *(kind for kind in kinds if kind != Kind.PAUSE)]
    if sale.has_room and now < state.closes_at:
        kinds = [*kinds, Kind.PACE]
    if now < sale.opens_at:
        kinds = [kind for kind in kinds if kind != Kind.END_NOW]
    return [Button(str(TITLES[kind]), control_url(sale_id=sale.pk, kind=kind), *LOOKS.get(kind, ())) for kind in kinds]


def buttons_of_item(item: SaleItem, *, has_others: bool) -> list[Button]:
    """The changes that are possible for an item of a published sale that is not over.

    The only item of a sale is paused with it.
    """
    kinds = [Kind.UNITS_PER_BUYER]
    if item.paused or has_others:
        kinds.append(Kind.RESUME_ITEM if item.paused else Kind.PAUSE_ITEM)
    if item.quantity is not None:
        kinds = [Kind.ADD_UNITS, Kind.WITHDRAW_UNITS, *kinds]
    urls = {kind: control_url(sale_id=item.sale_id, kind=kind, item_id=item.pk) for kind in kinds}
    return [Button(str(TITLES[kind]), url, *LOOKS.get(kind, ())) for kind, url in urls.items()]


def control_url(*, sale_id: int, kind: SaleChange.Kind, item_id: int | None = None) -> str:
    target = [sale_id, kind.value] if item_id is None else [sale_id, kind.value, item_id]
    return reverse("admin:seckill_sale_control", args=target)


def change_page(
    model_admin: "ModelAdmin[Sale]",
    request: HttpRequest,
    *,
    sale_id: int,
    kind: str,
    item_id: int | None,
    check_units: Callable[[SaleItem], None],
    ask_another: Callable[[HttpRequest, SaleItem, ChangeForm], None],
) -> HttpResponse:
    """Show the form of one change. A POST makes it; its result is shown on the page of the sale.

    Where `check_units` finds too many units added, nothing is changed, and `ask_another` asks for another's approval.
    """
    if kind not in TITLES or (Kind(kind) in OF_ITEM) != (item_id is not None):
        raise Http404
    change_kind = Kind(kind)
    sale = get_object_or_404(Sale, pk=sale_id, published_at__isnull=False)
    items = sale.items.select_related("sale", "variant__product")
    item = None if item_id is None else get_object_or_404(items, pk=item_id)
    if not model_admin.has_change_permission(request, sale):
        raise PermissionDenied
    if change_kind in WHILE_RUNNING and request.method != "POST" and is_over(sale):
        # The button was on a page from before the end.
        messages.error(request, _("This sale is over. To change its units, first move its end to a later time."))
        return redirect("admin:seckill_sale_change", sale.pk)
    form = form_for(change_kind, sale=sale, item=item, data=request.POST if request.method == "POST" else None)
    if form.is_valid():

        def on_new(new: Sequence[SaleChange]) -> None:
            """In the transaction that writes the change, so that of two forms at once the second one sees the first."""
            if item and change_kind == Kind.ADD_UNITS:
                check_units(item)
            model_admin.log_change(request, sale, f"{name_of(item) if item else sale}: {request_text(new[0])}")

        try:
            if make_and_report(request, form, kind=change_kind, sale=sale, item=item, on_new=on_new):
                return redirect("admin:seckill_sale_change", sale.pk)
        except AboveBound:
            assert item is not None
            ask_another(request, item, form)
            return redirect("admin:seckill_sale_change", sale.pk)
    return render_form(model_admin, request, form, kind=change_kind, sale=sale, item=item)


def make_and_report(
    request: HttpRequest,
    form: ChangeForm,
    *,
    kind: SaleChange.Kind,
    sale: Sale,
    item: SaleItem | None,
    on_new: Callable[[Sequence[SaleChange]], object],
) -> bool:
    """Make the change and show its result. False if a rule forbids it; the form then shows the error."""
    try:
        changes = make_change(
            kind=kind,
            made_by=cast(User, request.user),
            on_new=on_new,
            item_id=item.pk if item else None,
            sale_id=None if item else sale.pk,
            **form.cleaned_data,
        )
    except CannotChange as refusal:
        form.add_error(None, str(refusal))
        return False
    entry = entry_to_report(changes)
    messages.add_message(request, LEVELS[SaleChange.Status(entry.status)], result_message(entry))
    return True


def render_form(
    model_admin: "ModelAdmin[Sale]",
    request: HttpRequest,
    form: ChangeForm,
    *,
    kind: SaleChange.Kind,
    sale: Sale,
    item: SaleItem | None,
) -> HttpResponse:
    """The form with its preview. It works without JavaScript; with it, figures and preview are kept up to date."""
    items = [item] if item else list(sale.items.select_related("sale", "variant__product").order_by("pk"))
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": TITLES[kind],
        "hint": BEFORE_OPENING.get(kind, HINTS[kind]) if timezone.now() < sale.opens_at else HINTS[kind],
        "is_dangerous": kind in DANGEROUS,
        "reopens": kind == Kind.MOVE_END and is_over(sale),
        "sale": sale,
        "form": form,
        "preview": preview_of(form, kind=kind, sale=sale, items=items),
        "preview_texts": preview_texts(),
        "in_stock": in_stock(item) if item else None,
        "now_as_typed": as_typed(timezone.now()),
        "opens_as_typed": as_typed(sale.opens_at),
        "sale_url": reverse("admin:seckill_sale_change", args=[sale.pk]),
    }
    return TemplateResponse(request, "admin/seckill/sale/control.html", context)
