"""Asks another person to approve a change of a sale that is above the shop's bounds."""

from collections.abc import Sequence
from typing import cast
from uuid import uuid4

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from orders.approvals.approval_bounds import prices_need_another, units_need_another
from orders.approvals.approval_requests import Kind, ask, said_of
from orders.approvals.approved_changes import terms_of_draft
from seckill.live.staff_figures import name_of
from seckill.models import Sale, SaleItem
from seckill.staff.change_form import ChangeForm
from seckill.staff.publish_page import Risk
from shop.staff.admin_base import StaffAdmin


def ask_to_add_units(model_admin: StaffAdmin, request: HttpRequest, item: SaleItem, form: ChangeForm) -> bool:
    """Whether another person was asked. The form's token is the request's id, so a form sent twice asks once."""
    sent = form.cleaned_data
    if not units_need_another(item, units=sent["units"]):
        return False
    asked = ask(
        request_id=sent["token"],
        kind=Kind.ADD_UNITS,
        subject_id=item.pk,
        subject=f"{name_of(item)} · {item.sale}",
        details={"units": sent["units"], "sale_id": item.sale_id},
        reason=sent["reason"],
        asked_by=cast(User, request.user),
    )
    model_admin.message_user(request, *said_of(asked))
    return True


def ask_to_publish(
    model_admin: StaffAdmin, request: HttpRequest, sale: Sale, items: Sequence[SaleItem], risks: Sequence[Risk]
) -> bool:
    """Whether another person was asked. The points that were confirmed are the reason."""
    if not prices_need_another(items):
        return False
    asked = ask(
        request_id=uuid4(),
        kind=Kind.PUBLISH,
        subject_id=sale.pk,
        subject=str(sale),
        details={"terms": terms_of_draft(sale), "was_late": sale.opens_at <= timezone.now()},
        reason=" ".join(str(risk.text) for risk in risks),
        asked_by=cast(User, request.user),
    )
    model_admin.message_user(request, *said_of(asked))
    return True
