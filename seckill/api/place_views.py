"""`…/sales/{id}/queue/`: joining the waiting room of a sale, and asking for the place.

Ordinary questions for the place do not come here: `web/reservations/gate.py` answers them from memory.
"""

from typing import Any, cast

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from seckill.api.problem_codes import refusals
from seckill.api.serializers import PlaceRequestSerializer, PlaceSerializer, PlaceWithTokenSerializer
from seckill.api.views import guard_refusal, outside_window
from seckill.guards.pass_guards import Guard, GuardRefused, guarded_call
from seckill.models import Sale, published_sales
from seckill.passes.authentication import PassHolder
from seckill.waiting_room import place_tokens
from seckill.waiting_room.joining import first_item_id, join_by_rules
from seckill.waiting_room.place_answer import place_body
from seckill.waiting_room.place_tokens import PlaceToken
from seckill.waiting_room.standing import standing
from shop.databases.database_clock import database_now
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.compression import uncompressed
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import OUTAGE, problem
from shop.languages.buyer_language import remember_language

SCHEME = "Place"


class PlaceRefused(APIException):
    """The call has no place token, or not one of this sale."""

    status_code = 401
    default_code = "place_invalid"
    auth_header = SCHEME
    title = gettext_lazy("A place in the waiting room is needed")

    def __init__(self) -> None:
        super().__init__(_("Join the waiting room first, then send its token as “Authorization: Place …”."))


class PlaceAuthentication(BaseAuthentication):
    """Reads the token from the header: it alone says who asks."""

    def authenticate(self, request: Request) -> tuple[PassHolder, PlaceToken]:
        scheme, _space, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        token = place_tokens.read(text) if scheme == SCHEME else None
        if token is None:
            raise PlaceRefused
        return PassHolder(token.account_id), token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class PlaceScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI file describes the token."""

    target_class = PlaceAuthentication
    name = "place"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Place <place_token>`, from POST …/queue/. It says whose place in a waiting room is meant.",
        }


@method_decorator(uncompressed, name="dispatch")
class PlaceView(JsonAPIView):
    """The waiting room of a sale."""

    def get_authenticators(self) -> list[BaseAuthentication]:
        # While the OpenAPI file is made, there is no request at first.
        asks = self.request is not None and self.request.method in ("GET", "HEAD")
        return [PlaceAuthentication()] if asks else super().get_authenticators()

    @extend_schema(
        request=PlaceRequestSerializer,
        responses={
            201: PlaceWithTokenSerializer,
            **refusals(
                *(*TOKEN_REFUSALS, *BODY_REFUSALS, "csrf_failed", "not_found"),
                *("too_many_attempts", "too_early", "no_waiting_room", "closed", "unavailable"),
                *Guard,
            ),
        },
    )
    def post(self, request: Request, sale_id: int) -> HttpResponse:
        """Join. Each account has one place: a second call, or another tab, hears the same one.

        An earlier place token brings the place back, if the shop has lost it. The rules of the sale are for
        accounts without a place.
        """
        body = PlaceRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        sale = get_object_or_404(published_sales(), pk=sale_id)
        if refused := why_no_place(sale):
            return refused
        account_id, network = cast(int, request.user.pk), client_network(request._request)
        token = place_tokens.read(body.validated_data["place_token"])
        mine = token is not None and (token.sale_id, token.account_id) == (sale_id, account_id)
        proof, claimed = body.validated_data["proof"], token.arrival if token and mine else None
        guarded = guarded_call(request._request, sale=sale, buyer_id=account_id, network=network, proof=proof)
        try:
            found = join_by_rules(sale=sale, account_id=account_id, network=network, guarded=guarded, claimed=claimed)
        except GuardRefused as error:
            return guard_refusal(error, sale=sale, item_id=first_item_id(sale))
        if found is None:
            return problem(**OUTAGE)
        remember_language(request)
        text = place_tokens.issue(sale_id=sale_id, account_id=account_id, arrival=found.arrival)
        return place_response({"place_token": text, **place_body(found, now_ms=found.room.now_ms)}, status=201)

    @extend_schema(responses={200: PlaceSerializer, **refusals("place_invalid", "unavailable")})
    def get(self, request: Request, sale_id: int) -> HttpResponse:
        """The place of a token, and how the line moves."""
        token = cast(PlaceToken, request.auth)
        found = standing(sale_id=sale_id, account_id=token.account_id) if token.sale_id == sale_id else None
        if found is None or found.arrival != token.arrival:
            # The store has lost it, or the account has a later place: the POST says which.
            raise PlaceRefused
        return place_response(place_body(found, now_ms=found.room.now_ms))


def why_no_place(sale: Sale) -> HttpResponse | None:
    """The refusal of a call that comes too early or too late, or for a sale without a waiting room."""
    # The clocks of web servers may be an hour off, and PostgreSQL is asked here anyway.
    now = database_now()
    if not sale.has_room:
        return problem(
            status=409,
            code="no_waiting_room",
            title=_("This sale has no waiting room"),
            detail=_("Get a pass for an item of the sale instead."),
        )
    return outside_window(
        sale,
        now,
        title=_("The waiting room is not open yet"),
        detail=_("It opens some minutes before the sale. Coming early is no advantage: places are drawn."),
    )


def place_response(body: dict[str, Any], *, status: int = 200) -> Response:
    return Response(body, status=status, headers={"Cache-Control": "no-store"})
