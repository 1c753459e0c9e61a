"""Asks for the approval of a second person, and decides about it: each once, whatever is repeated or comes at once."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from orders.models import ApprovalRequest, waiting_requests

Kind = ApprovalRequest.Kind
Status = ApprovalRequest.Status
# Of these there is at most one for each change and subject.
NOT_OVER = (Status.WAITING, Status.APPROVED)

RIGHTS = {
    Kind.REFUND: "orders.change_order",
    Kind.ADD_UNITS: "seckill.change_sale",
    Kind.PUBLISH: "seckill.change_sale",
}


def ask(
    *,
    request_id: UUID,
    kind: ApprovalRequest.Kind,
    subject_id: int,
    subject: str,
    details: Mapping[str, Any],
    reason: str,
    asked_by: User,
) -> ApprovalRequest | None:
    """The request; None if another one for the same change still waits. The same `request_id` makes one request.

    A form that is sent again with other details, or after its request is over, asks for another one.
    """
    with transaction.atomic():
        expire_late()
        is_same = Q(subject_id=subject_id, details=details, status__in=NOT_OVER)
        if ApprovalRequest.objects.filter(~is_same, pk=request_id).exists():
            request_id = uuid4()
        ApprovalRequest.objects.bulk_create(
            [
                ApprovalRequest(
                    id=request_id,
                    kind=kind,
                    subject_id=subject_id,
                    subject=subject[:300],
                    details=dict(details),
                    reason=reason[:300],
                    asked_by=asked_by,
                    expires_at=Now() + timedelta(hours=settings.APPROVAL_HOURS),
                )
            ],
            ignore_conflicts=True,
        )
        return ApprovalRequest.objects.filter(pk=request_id).first()


def said_of(asked: ApprovalRequest | None) -> tuple[str, int]:
    """What the person who asked reads, and the level of the message."""
    if asked is None:
        return _("A request for this already waits for another person. No second one was made."), messages.WARNING
    return _("This is above the shop's bound: another person has to approve it, under “Approvals”."), messages.WARNING


def decide(*, request_id: UUID, decided_by: User, is_approved: bool, reason: str) -> bool:
    """Approve or decline a request of another person. False if it no longer waits, or is one's own.

    The caller then carries out an approved one (`approved_changes.py`); a sweep does, if the caller dies.
    """
    waiting = waiting_requests().filter(pk=request_id).exclude(asked_by=decided_by)
    decided = {"decided_by": decided_by, "decided_at": Now(), "decision_reason": reason}
    return waiting.update(status=Status.APPROVED if is_approved else Status.DECLINED, **decided) == 1


def expire_late() -> int:
    """Note which requests were not decided in time. Returns how many."""
    late = ApprovalRequest.objects.filter(status=Status.WAITING, expires_at__lte=Now())
    return late.update(status=Status.EXPIRED)
