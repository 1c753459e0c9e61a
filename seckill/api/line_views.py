"""Waiting for an item whose units are gone: a place in line, with a pass that was refused.

The place has the reservation id of the pass, so `GET …/reservations/{id}/` says first where one stands, and then that
units are held; `DELETE` there gives the place up.
"""

from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from seckill import ledger
from seckill.api.problem_codes import refusals
from seckill.api.views import refusal, status_url_pattern
from seckill.ledger_words import Joined
from seckill.line.line_ledger import WAITING_UNITS_MAX, JoinAnswer, join_line
from seckill.line.place_in_line import LINE_REFUSALS, place_body, refused_as
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.passes.authentication import PASS_REFUSALS, PassAuthentication, PassRefused
from seckill.store.client import StoreUnreachable
from shop.http.base_view import JsonAPIView
from shop.http.compression import uncompressed
from shop.http.problem_codes import BODY_REFUSALS
from shop.http.problems import problem
from shop.http.serializers import StrictSerializer, WholeNumberField
from shop.times.timestamps import now_ms

IN_LINE = (Joined.JOINED, Joined.ALREADY_WAITING)


class LineRequestSerializer(StrictSerializer):
    units = WholeNumberField(min_value=1, max_value=WAITING_UNITS_MAX, default=1)


class PlaceInLineSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Of the place, and of the reservation that may come of it.")
    units = serializers.IntegerField()
    place = serializers.IntegerField(help_text="1 is the first.")
    ahead = serializers.IntegerField(help_text="How many came before.")
    note = serializers.CharField(help_text="What the place means, for the buyer.")
    poll_after_ms = serializers.IntegerField(
        allow_null=True, help_text="When to ask `status_url` again; null when the sale is over."
    )
    status_url = serializers.CharField()


@method_decorator(uncompressed, name="dispatch")
class WaitingListView(JsonAPIView):
    """Wait for units that come back, with a pass that was refused.

    A buyer has one place of an item: a call with another pass gets the place that is there. Repeating a call is safe.
    """

    authentication_classes = (PassAuthentication,)
    permission_classes = ()

    @extend_schema(
        request=LineRequestSerializer,
        responses={
            201: PlaceInLineSerializer,
            **refusals(
                *BODY_REFUSALS,
                *PASS_REFUSALS,
                *("unavailable", "no_line", "already_reserved", "hold_ended", "paused", "not_open", "closed"),
                *("limit_reached", "units_left", "line_full"),
            ),
        },
    )
    def post(self, request: Request, item_id: int) -> HttpResponse:
        pass_ = cast(passes.Pass, request.auth)
        if pass_.item_id != item_id:
            raise PassRefused("pass_of_another_item")
        body = LineRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            return joined(pass_, units=body.validated_data["units"])
        except StoreUnreachable:
            return refusal(ledger.Reservation(Outcome.UNAVAILABLE, now_ms=now_ms()))


def joined(pass_: passes.Pass, *, units: int) -> HttpResponse:
    answer = join_line(item_id=pass_.item_id, reservation_id=pass_.reservation_id, buyer_id=pass_.buyer_id, units=units)
    if answer.word not in IN_LINE or answer.reservation_id is None:
        return join_refusal(answer)
    body = place_of(pass_, answer.reservation_id) or just_served(answer)
    response = Response(body, status=201, headers={"Location": body["status_url"], "Cache-Control": "no-store"})
    if answer.word is Joined.ALREADY_WAITING:
        response["Idempotent-Replayed"] = "true"
    return response


def place_of(pass_: passes.Pass, reservation_id: UUID) -> dict[str, Any] | None:
    body = place_body(item_id=pass_.item_id, buyer_id=pass_.buyer_id, reservation_id=reservation_id)
    return body and {"id": str(reservation_id), **body, "status_url": status_url_pattern() % reservation_id}


def just_served(answer: JoinAnswer) -> dict[str, Any]:
    """Units came between joining and looking: the status says so."""
    url = status_url_pattern() % answer.reservation_id
    note = _("Units may have come back for you just now: the status of the reservation says whether they have.")
    place = {"units": answer.units, "place": 1, "ahead": 0, "note": note, "poll_after_ms": 0}
    return {"id": str(answer.reservation_id), **place, "status_url": url}


def join_refusal(answer: JoinAnswer) -> HttpResponse:
    """The problem document. Words that reserve.lua has too are answered as there."""
    if answer.word in LINE_REFUSALS:
        title, detail = LINE_REFUSALS[answer.word]
        return problem(status=409, code=answer.word.value, title=title, detail=detail)
    return refusal(refused_as(answer))
