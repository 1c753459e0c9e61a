"""Calls with an `Idempotency-Key`: made once, however often they are repeated.

As in draft-ietf-httpapi-idempotency-key-header: a missing key is 400, a key of another call 422, one whose first call
is still running 409, and a repeated call gets the first answer, marked `Idempotent-Replayed: true`. Refusals are not
kept: a corrected call may use the same key.

There are two kinds. `run_once` is for work that is one transaction of PostgreSQL: the answer is written in it too, so a
crash leaves both or neither. `begin`, `finish` and `give_up` are for work that also calls other systems, and that is
safe to repeat after a crash.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from hashlib import blake2b, sha256
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from orders.models import IdempotentCall
from shop.http.problems import problem

# The length of IdempotentCall.key and of Payment.idempotency_key.
KEY_LENGTH_MAX = 255
# Printable characters of ASCII, with blanks only between others: anything else may arrive changed.
KEY = re.compile(rf"[!-~]([ -~]{{0,{KEY_LENGTH_MAX - 2}}}[!-~])?")
# A client that repeats a call does so within minutes. Stripe too keeps answers for a day.
KEPT = timedelta(hours=24)
# A call that has not ended after this long died with its process.
RUNNING_MAX = timedelta(seconds=30)
# One batch of the sweep; the next one follows at once.
BATCH_MAX = 1_000
# When to ask again about a call that is running.
RETRY_SECONDS = 1

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": f"^{KEY.pattern}$", "minLength": 1, "maxLength": KEY_LENGTH_MAX},
    OpenApiParameter.HEADER,
    required=True,
    description="Chosen by the client: a new one for each operation, the same one when it repeats a call.",
)
KEY_REFUSALS = ("idempotency_key_missing", "idempotency_key_reused", "idempotency_key_running")
REPLAYED_HEADER = "Idempotent-Replayed"


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """A call with an `Idempotency-Key`. `owner` is the caller, `fingerprint` a hash of the request."""

    owner: str
    key: str
    fingerprint: str = ""


class CallState(StrEnum):
    """The state of a call, in the order of the checks."""

    RUNNING = "running"
    OTHER_PAYLOAD = "other_payload"
    REPLAYED = "replayed"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class CallResult:
    """`status` and `answer` are set if the call was done, now or before. A refusal is set if it was made now."""

    state: CallState
    status: int = 0
    answer: Any = None
    refusal: Any = None


class Refused(Exception):
    """The work was refused. The transaction is rolled back, and nothing is kept of the call."""

    def __init__(self, refusal: Any) -> None:
        super().__init__("refused")
        self.refusal = refusal


def run_once(call: KeyedCall, work: Callable[[], tuple[int, Any]], *, wait: bool = False) -> CallResult:
    """Do `work` in one transaction, unless it was done before. It returns a status and an answer, or raises Refused.

    While another process does it, the answer is RUNNING; with `wait` this one waits and gets the first answer.
    """
    try:
        with transaction.atomic():
            if not lock(call, wait=wait):
                return CallResult(CallState.RUNNING)
            known = rows_of(call).first()
            if known is not None:
                return result_of(known, call)
            status, answer = work()
            IdempotentCall.objects.create(
                owner=call.owner, key=call.key, fingerprint=call.fingerprint, status=status, answer=answer
            )
    except Refused as refused:
        return CallResult(CallState.NEW, refusal=refused.refusal)
    return CallResult(CallState.NEW, status, answer)


def lock(call: KeyedCall, *, wait: bool) -> bool:
    """Take the lock of the call's key until the transaction ends. False if another call has it."""
    digest = blake2b(f"{call.owner}\n{call.key}".encode(), digest_size=8, person=b"idempotent-call").digest()
    function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [int.from_bytes(digest, signed=True)])
        (locked,) = cursor.fetchone()
    return wait or bool(locked)


def begin(call: KeyedCall) -> CallResult:
    """Note that the call is being made. NEW means: do the work, then call `finish` or `give_up`."""
    row = IdempotentCall(owner=call.owner, key=call.key, fingerprint=call.fingerprint)
    same = rows_of(call)
    if same.exists() or not is_inserted(row):
        known = same.first()
        if known is None:
            # Given up a moment ago.
            return CallResult(CallState.RUNNING)
        found = result_of(known, call)
        # The process that made it has died. Of several repeated calls, one takes it over.
        dead = same.filter(status=None, fingerprint=call.fingerprint, created_at__lt=Now() - RUNNING_MAX)
        return CallResult(CallState.NEW) if dead.update(created_at=Now()) else found
    return CallResult(CallState.NEW)


def is_inserted(row: IdempotentCall) -> bool:
    """Whether this row is the one that is kept. Waits for another transaction that is inserting the same key."""
    table, names = IdempotentCall._meta.db_table, "owner, key, fingerprint, created_at"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({names}) VALUES (%s, %s, %s, now()) ON CONFLICT (owner, key) DO NOTHING",
            [row.owner, row.key, row.fingerprint],
        )
        return bool(cursor.rowcount)


def finish(call: KeyedCall, *, status: int, answer: Any) -> None:
    """Keep the answer for repeated calls."""
    rows_of(call).filter(status=None).update(status=status, answer=answer)


def give_up(call: KeyedCall) -> None:
    """The call was refused: the key may be used again."""
    rows_of(call).filter(status=None).delete()


def rows_of(call: KeyedCall) -> QuerySet[IdempotentCall]:
    return IdempotentCall.objects.filter(owner=call.owner, key=call.key)


def result_of(known: IdempotentCall, call: KeyedCall) -> CallResult:
    if known.fingerprint != call.fingerprint:
        return CallResult(CallState.OTHER_PAYLOAD)
    if known.status is None:
        return CallResult(CallState.RUNNING)
    return CallResult(CallState.REPLAYED, known.status, known.answer)


def forget_old_calls() -> int:
    """Forget one batch of calls that are too old to be repeated. Returns how many."""
    old = IdempotentCall.objects.filter(created_at__lt=Now() - KEPT).order_by("created_at")
    pks = list(old.values_list("pk", flat=True)[:BATCH_MAX])
    IdempotentCall.objects.filter(pk__in=pks).delete()
    return len(pks)


def forget_calls_of(*, buyer_id: int) -> None:
    """Forget the calls of a person who leaves, on pages and in the API."""
    buyer = f"buyer:{buyer_id}"
    IdempotentCall.objects.filter(Q(owner__in=[buyer, f"web:{buyer}"]) | Q(owner__startswith=f"{buyer}:")).delete()


def key_of(request: Request) -> str | None:
    """The Idempotency-Key header; None if it is missing or not valid."""
    key = request.headers.get("Idempotency-Key", "")
    return key if KEY.fullmatch(key) else None


def fingerprint_of(request: Request) -> str:
    """A hash of the address and the body of a call, however the body is written."""
    body = json.dumps(request.data, sort_keys=True, ensure_ascii=True)
    return sha256(f"{request.method} {request.path}\n{body}".encode()).hexdigest()


def key_missing() -> HttpResponse:
    return problem(
        status=400,
        code="idempotency_key_missing",
        title=_("The Idempotency-Key is missing"),
        detail=_("Send an Idempotency-Key header of 1 to 255 characters. Use the same key when you repeat the call."),
    )


def key_refused(state: CallState) -> HttpResponse:
    """The problem for RUNNING and OTHER_PAYLOAD."""
    if state is CallState.RUNNING:
        return problem(
            status=409,
            code="idempotency_key_running",
            title=_("The first call is still running"),
            detail=_("Repeat the call in a moment to get its answer."),
            retry_after_seconds=RETRY_SECONDS,
        )
    return problem(
        status=422,
        code="idempotency_key_reused",
        title=_("The Idempotency-Key belongs to another call"),
        detail=_("A call with the same key asked for something else. Send a new key."),
    )
