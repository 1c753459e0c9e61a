"""The flash sale over HTTP: sales, passes, and the reservation itself. Live figures are in seckill/api/live_views.py.

`ReservationView` reads the pass (no database) and calls `reservation.reserve`, which asks the reservation store once.
Follow it from there to the script, and the outbox to `orders/life/intake.py`. Ordinary calls do not come here:
`web/reservations/hot_lane.py` gives them the same answers in a fraction of the time.
"""

import math
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from seckill import ledger
from seckill.api.problem_codes import refusals
from seckill.api.serializers import (
    PassRequestSerializer,
    PassSerializer,
    ReservationRequestSerializer,
    ReservationSerializer,
    SaleSerializer,
)
from seckill.guards.guard_texts import guard_problem
from seckill.guards.pass_guards import Guard, GuardedCall, GuardRefused, guarded_call
from seckill.live.answer import jitter_seconds
from seckill.live.page_texts import not_let_in_texts, refusal_detail, unpaid_too_often
from seckill.models import NoPass, Sale, listed_sales, published_sales, with_products
from seckill.outcomes import HTTP, Outcome
from seckill.passes import passes, receipts
from seckill.passes.authentication import PASS_REFUSALS, PassAuthentication, PassRefused
from seckill.passes.sale_times import find_sale_times
from seckill.passes.unpaid_holds import HoldsUnpaid
from seckill.phase import Phase, in_phase
from seckill.reservation import ACCEPTED, reserve
from seckill.waiting_room.standing import why_not_let_in
from shop.background.outages import AWAY
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.compression import uncompressed
from shop.http.list_pages import PageParameters, list_answer
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.public_answers import IF_NONE_MATCH, LANGUAGE, UNCHANGED, public_answer
from shop.languages.buyer_language import remember_language
from shop.prices.money import to_text
from shop.times.timestamps import now_ms, rfc3339, to_ms


@method_decorator(uncompressed, name="dispatch")
class ReservationView(JsonAPIView):
    """Reserve units of a sale item with a pass. Repeating the call is safe: the same pass never reserves twice.

    Without a body the call is for one unit.
    """

    authentication_classes = (PassAuthentication,)
    permission_classes = ()

    @extend_schema(
        request=ReservationRequestSerializer,
        responses={
            201: ReservationSerializer,
            **refusals(
                *BODY_REFUSALS,
                *PASS_REFUSALS,
                *(outcome for outcome in Outcome if outcome not in ACCEPTED),
            ),
        },
    )
    def post(self, request: Request, item_id: int) -> HttpResponse:
        pass_ = cast(passes.Pass, request.auth)
        if pass_.item_id != item_id:
            raise PassRefused("pass_of_another_item")
        body = ReservationRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        reservation = reserve(pass_=pass_, units=body.validated_data["units"])
        return accepted(pass_, reservation) if reservation.outcome in ACCEPTED else refusal(reservation)


def accepted(pass_: passes.Pass, reservation: ledger.Reservation) -> Response:
    """201: the units are held for the buyer until the deadline."""
    body = accepted_body(pass_, reservation)
    response = Response(body, status=201, headers={"Location": body["status_url"], "Cache-Control": "no-store"})
    if reservation.outcome is Outcome.ALREADY_RESERVED:
        response["Idempotent-Replayed"] = "true"
    return response


def accepted_body(pass_: passes.Pass, reservation: ledger.Reservation) -> dict[str, Any]:
    reservation_id = pass_.reservation_text
    return {
        "id": reservation_id,
        "units": reservation.units,
        "amount": to_text(minor=reservation.units * reservation.price_minor, currency=reservation.currency),
        "currency": reservation.currency,
        "expires_at": rfc3339(reservation.deadline_ms),
        "status_url": status_url_pattern() % reservation_id,
        "receipt": receipts.issue(pass_=pass_, reservation_id=reservation_id, reservation=reservation),
    }


@lru_cache(maxsize=1)
def status_url_pattern() -> str:
    """The address of a reservation, with %s for its id. Looking it up takes longer than all the rest of the answer."""
    any_id = UUID(int=0)
    return reverse("api-reservation", args=[any_id]).replace(str(any_id), "%s")


def refusal(reservation: ledger.Reservation) -> HttpResponse:
    """The problem document of any other outcome."""
    outcome = reservation.outcome
    answer = HTTP[outcome]
    retry_after_seconds = None
    if answer.retry_after_seconds is not None:
        retry_after_seconds = jitter_seconds(answer.retry_after_seconds, now_ms=reservation.now_ms)
    more: dict[str, Any] = {"server_time": rfc3339(reservation.now_ms)}
    if outcome is Outcome.NOT_OPEN:
        retry_after_seconds = math.ceil(reservation.retry_ms / 1000)
    if outcome is Outcome.TOO_FEW_LEFT and reservation.left is not None:
        more["left"] = reservation.left
    if outcome is Outcome.LIMIT_REACHED:
        more["remaining"], more["per_buyer_max"] = reservation.remaining, reservation.per_buyer_max
    return problem(
        status=answer.status,
        code=outcome.value,
        title=answer.title,
        detail=refusal_detail(reservation),
        retry_after_seconds=retry_after_seconds,
        **more,
    )


@method_decorator(uncompressed, name="dispatch")
class PassView(JsonAPIView):
    """A pass for the signed-in buyer. Passes are issued from ten minutes before the opening."""

    # Ordinary calls do not come here: web/reservations/signed_in.py gives a pass under the same conditions.

    @extend_schema(
        request=PassRequestSerializer,
        responses={
            201: PassSerializer,
            **refusals(
                *(*TOKEN_REFUSALS, *BODY_REFUSALS, "csrf_failed", "not_found"),
                *("too_many_attempts", "drawn", "too_early", "unpaid_too_often", "closed"),
                *("place_needed", "place_not_called", "unavailable"),
                *Guard,
            ),
        },
    )
    def post(self, request: Request, item_id: int) -> HttpResponse:
        asked = PassRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        sale = find_sale_times(item_id)
        if sale is None:
            raise Http404
        now = timezone.now()
        if refused := no_pass_now(sale, now):
            return refused
        buyer_id, network = cast(int, request.user.pk), client_network(request._request)
        if sale.has_room and (not_let_in := why_not_let_in(sale_id=sale.pk, account_id=buyer_id)):
            return problem(**not_let_in_texts(not_let_in), server_time=rfc3339(to_ms(now)))
        guarded = guarded_call(
            request._request, sale=sale, buyer_id=buyer_id, network=network, proof=asked.validated_data["proof"]
        )
        try:
            body = pass_body(sale=sale, item_id=item_id, buyer_id=buyer_id, network=network, guarded=guarded)
        except GuardRefused as error:
            return guard_refusal(error, sale=sale, item_id=item_id)
        except HoldsUnpaid as error:
            return problem(**unpaid_too_often(error.retry_after_seconds), server_time=rfc3339(to_ms(now)))
        # Here and not in ReservationView, which makes no query. A proof was taken, so the pass is given in any case.
        with suppress(*AWAY):
            remember_language(request)
        return Response(body, status=201, headers={"Cache-Control": "no-store"})


def guard_refusal(error: GuardRefused, *, sale: Sale, item_id: int) -> HttpResponse:
    """The refusal by a rule of the sale, with the address of the challenge where one is to be solved."""
    challenge: dict[str, Any] = {}
    if sale.proof_of_work:
        challenge["challenge_url"] = reverse("api-challenges", args=[item_id])
    return problem(**guard_problem(error), **challenge, server_time=rfc3339(now_ms()))


def no_pass_now(sale: Sale, now: datetime) -> HttpResponse | None:
    """The refusal before passes can be had, and after the sale; None while they can."""
    if sale.why_no_pass(now) is NoPass.DRAWN:
        return problem(
            status=409,
            code=NoPass.DRAWN.value,
            title=_("The units are drawn"),
            detail=_("Nobody can reserve in this sale. Enter its draw until the opening."),
            server_time=rfc3339(to_ms(now)),
        )
    return outside_window(
        sale,
        now,
        title=_("Too early for a pass"),
        detail=_("Passes are issued from a few minutes before the sale opens. Try again then."),
    )


def outside_window(sale: Sale, now: datetime, *, title: str, detail: str) -> HttpResponse | None:
    """The refusal of a call that comes too early, in these words, or too late; None from the lead time to the end."""
    why_not = sale.why_no_pass(now)
    if why_not is NoPass.TOO_EARLY:
        return problem(
            status=409,
            code=why_not.value,
            title=title,
            detail=detail,
            retry_after_seconds=math.ceil((sale.passes_open_at - now).total_seconds()),
            server_time=rfc3339(to_ms(now)),
        )
    return refusal(ledger.Reservation(Outcome.CLOSED, now_ms=now_ms())) if why_not is NoPass.CLOSED else None


def pass_body(
    *, sale: Sale, item_id: int, buyer_id: int, network: str, guarded: GuardedCall | None = None
) -> dict[str, Any]:
    """A new pass in the form of the API. Raises LimitReached and, for a sale with rules, GuardRefused."""
    text, expires_s = passes.give(sale=sale, item_id=item_id, buyer_id=buyer_id, network=network, guarded=guarded)
    return {"pass": text, "expires_at": rfc3339(expires_s * 1000)}


class SaleListParameters(PageParameters):
    phase = serializers.ChoiceField(list(Phase), required=False)


@method_decorator(public_answer, name="dispatch")
class SaleListView(APIView):
    """Published and listed sales with their items, the latest opening first, in pages.

    The header `Link` has the addresses of the previous and the next page. `Total-Count` says how many there are.
    """

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        parameters=[SaleListParameters, LANGUAGE, IF_NONE_MATCH],
        responses={200: SaleSerializer(many=True), **UNCHANGED, **refusals("invalid", "not_found")},
    )
    def get(self, request: Request) -> Response:
        asked = SaleListParameters.of(request)
        page, size = asked["page"], asked["page_size"]
        sales = listed_sales().select_related("waiting_room").prefetch_related(with_products())
        if phase := asked.get("phase"):
            sales = sales.filter(in_phase(Phase(phase), now=timezone.now()))
        data = SaleSerializer(sales[(page - 1) * size : page * size], many=True).data
        return list_answer(request, data, count=sales.count(), page=page, page_size=size)


@method_decorator(public_answer, name="dispatch")
class SaleView(RetrieveAPIView[Sale]):
    """One published sale with its items."""

    authentication_classes = ()
    permission_classes = ()
    serializer_class = SaleSerializer
    queryset = Sale.objects.none()

    def get_queryset(self) -> QuerySet[Sale]:
        return published_sales().select_related("waiting_room").prefetch_related(with_products())

    @extend_schema(
        parameters=[LANGUAGE, IF_NONE_MATCH], responses={200: SaleSerializer, **UNCHANGED, **refusals("not_found")}
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)
