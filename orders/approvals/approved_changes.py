"""Carries out what a second person has approved: once, and only if it is still possible.

The approval is committed first. A process that is killed afterwards leaves it to the sweep, and two that carry it out
at once make one change: the request's id is that of the refund or of the change of the sale, and a sale is published
once.
"""

from uuid import UUID

import structlog
from django.db.models import F, Q
from django.utils.translation import gettext as _

from orders.approvals.approval_requests import Kind, Status, expire_late
from orders.life import lifecycle
from orders.models import ApprovalRequest, Refund
from orders.refund_records import RefundRequest
from seckill.changes.journal import make_change
from seckill.changes.rules import CannotChange
from seckill.changes.texts import result_message
from seckill.models import Sale, SaleChange
from seckill.publication import CannotPublish, draft_terms, publish_sale
from seckill.store.client import StoreUnreachable
from shop import failpoints
from shop.databases.database_clock import database_now

log = structlog.get_logger(__name__)


class NoLongerPossible(Exception):
    """The order, the stock or the sale has changed since. The message is for staff."""


def carry_out(request_id: UUID) -> ApprovalRequest:
    """Carry out an approved request, and note what came of it. Any other one is returned as it is."""
    approval = ApprovalRequest.objects.select_related("asked_by", "decided_by").get(pk=request_id)
    if approval.status != Status.APPROVED:
        return approval
    failpoints.reach("approvals.before")
    status, outcome = Status.DONE, ""
    try:
        match approval.kind:
            case Kind.REFUND:
                refund(approval)
            case Kind.ADD_UNITS:
                outcome = add_units(approval)
            case Kind.PUBLISH:
                publish(approval)
    except NoLongerPossible as refusal:
        status, outcome = Status.REFUSED, str(refusal)
    failpoints.reach("approvals.after")
    approved = ApprovalRequest.objects.filter(pk=request_id, status=Status.APPROVED)
    if approved.update(status=status, outcome=outcome[:500]):
        log.info("approval_carried_out", approval=str(request_id), kind=approval.kind, status=status.value)
    approval.refresh_from_db()
    return approval


def carry_out_approved() -> int:
    """For the sweep: what a killed process left, and what was not decided in time. Returns how many."""
    expired = expire_late()
    left = list(ApprovalRequest.objects.filter(status=Status.APPROVED).values_list("pk", flat=True))
    for request_id in left:
        try:
            carry_out(request_id)
        except Exception:
            log.exception("approval_not_carried_out", approval=str(request_id))
    return expired + len(left)


def refund(approval: ApprovalRequest) -> None:
    """A refund with the request's id is the approved one only if it has its amount.

    One of all that is left may have less: what the provider had paid on its own site is a refund beside it.
    """
    made = Refund.objects.filter(pk=approval.pk)
    if not made.exists():
        make_approved_refund(approval)
    approved_minor = approval.details["amount_minor"]
    is_it = Q(amount_minor=approved_minor)
    if approval.details["is_all"]:
        is_it |= Q(amount_minor__lt=approved_minor, order__refunded_minor=F("order__amount_minor"))
    if not made.filter(is_it, order_id=approval.subject_id).exists():
        raise NoLongerPossible(_("Nothing was refunded: the order has changed meanwhile."))


def make_approved_refund(approval: ApprovalRequest) -> None:
    details = approval.details
    if details["is_all"]:
        lifecycle.refund(
            order_id=approval.subject_id,
            refund_id=approval.pk,
            amount_minor=details["amount_minor"],
            units_back=details["units_back"],
            reason=approval.reason,
            made_by=approval.asked_by,
        )
        return
    request = RefundRequest(
        refund_id=approval.pk,
        amount_minor=details["amount_minor"],
        units_of_line={int(line_id): units for line_id, units in details["units"].items()},
        units_back=details["units_back"],
        reason=approval.reason,
        made_by=approval.asked_by,
    )
    lifecycle.refund_amount(order_id=approval.subject_id, request=request)


def add_units(approval: ApprovalRequest) -> str:
    """Returns the journal's answer."""
    try:
        (change,) = make_change(
            kind=SaleChange.Kind.ADD_UNITS,
            item_id=approval.subject_id,
            units=approval.details["units"],
            reason=approval.reason,
            made_by=approval.asked_by,
            token=approval.pk,
        )
    except CannotChange as refusal:
        raise NoLongerPossible(str(refusal)) from refusal
    if (change.kind, change.units) != (SaleChange.Kind.ADD_UNITS, approval.details["units"]):
        raise NoLongerPossible(
            _("These units were not added: other ones were added with the same form. Ask for them again.")
        )
    if change.status == SaleChange.Status.REFUSED:
        raise NoLongerPossible(result_message(change))
    return result_message(change)


def publish(approval: ApprovalRequest) -> None:
    """Nothing else is published than what was asked for: other prices or times ask again."""
    sale = Sale.objects.filter(pk=approval.subject_id).first()
    if sale is None:
        raise NoLongerPossible(_("This sale was deleted."))
    if sale.is_published:
        return

    def check(draft: Sale) -> None:
        if draft_terms(draft) != approval.details["terms"]:
            raise NoLongerPossible(_("The draft was changed since. Press “Save and publish …” on its page again."))
        if draft.opens_at <= database_now() and not approval.details["was_late"]:
            raise NoLongerPossible(_("The opening has passed since. Press “Save and publish …” on its page again."))

    try:
        publish_sale(sale_id=sale.pk, made_by=approval.asked_by, check=check)
    except CannotPublish as refusal:
        raise NoLongerPossible(str(refusal)) from refusal
    except StoreUnreachable:
        # It is published all the same, and announced as soon as the store answers.
        pass
