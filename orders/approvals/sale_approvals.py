"""Finds changes of a sale that are above the shop's bounds, under its lock, and asks another person to approve them."""

from collections.abc import Sequence
from typing import cast
from uuid import uuid4

from django.contrib.auth.models import User
from django.http import HttpRequest

from orders.approvals.approval_bounds import added_units_need_another, prices_need_another
from orders.approvals.approval_requests import Kind, ask, said_of
from seckill.live.staff_figures import name_of
from seckill.models import Sale, SaleItem
from seckill.publication import draft_terms
from seckill.staff.change_form import ChangeForm
from seckill.staff.permissions import AboveBound
from seckill.staff.publish_page import Risk
from seckill.staff.sale_admin import SaleAdmin
from shop.databases.database_clock import database_now


class WithApprovals(SaleAdmin):
    """What is above a bound raises AboveBound; then another person is asked."""

    def check_added_units(self, item: SaleItem) -> None:
        if added_units_need_another(item):
            raise AboveBound

    def check_publishing(self, sale: Sale) -> None:
        if prices_need_another(sale.items.select_related("variant")):
            raise AboveBound

    def ask_to_add_units(self, request: HttpRequest, item: SaleItem, form: ChangeForm) -> None:
        """The form's token is the request's id, so a form sent twice asks once."""
        sent = form.cleaned_data
        asked = ask(
            request_id=sent["token"],
            kind=Kind.ADD_UNITS,
            subject_id=item.pk,
            subject=f"{name_of(item)} · {item.sale}",
            details={"units": sent["units"], "sale_id": item.sale_id},
            reason=sent["reason"],
            asked_by=cast(User, request.user),
        )
        self.message_user(request, *said_of(asked))

    def ask_to_publish(self, request: HttpRequest, sale: Sale, risks: Sequence[Risk]) -> None:
        """The points that were confirmed are the reason."""
        asked = ask(
            request_id=uuid4(),
            kind=Kind.PUBLISH,
            subject_id=sale.pk,
            subject=str(sale),
            details={"terms": draft_terms(sale), "was_late": sale.opens_at <= database_now()},
            reason=" ".join(str(risk.text) for risk in risks),
            asked_by=cast(User, request.user),
        )
        self.message_user(request, *said_of(asked))
