"""Draws over HTTP: entering one, its result, and the file with which anybody can recompute it."""

from typing import Any, cast

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from seckill.api.problem_codes import refusals
from seckill.draw.draw_answers import DrawStage, entry_body, published_draw
from seckill.draw.entering import EntryWord, enter, why_refused, withdraw
from seckill.guards.guard_texts import guard_problem
from seckill.guards.pass_guards import Guard, guarded_call
from seckill.models import UNITS_MAX, Draw, DrawEntry, SaleItem, published_items
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.public_answers import IF_NONE_MATCH, UNCHANGED, public_answer
from shop.http.rate_limits import take
from shop.http.serializers import StrictSerializer, TimeField, WholeNumberField
from shop.languages.buyer_language import remember_language

ENTER_LIMIT = "30/minute"
SIGNED_IN = (*TOKEN_REFUSALS, "csrf_failed", "not_found")
# The file never changes once it is there.
FILE_CACHE_CONTROL = "public, max-age=3600"


class EntryRequestSerializer(StrictSerializer):
    units = WholeNumberField(min_value=1, max_value=UNITS_MAX, default=1)


class EntrySerializer(serializers.Serializer[Any]):
    entry = serializers.UUIDField(help_text="Random. After the draw it stands in the published list, without a name.")
    item = serializers.IntegerField()
    units = serializers.IntegerField()
    status = serializers.ChoiceField(
        DrawEntry.Status.values,
        help_text="`won`: pay the order before its deadline. Without a `status_url` its units are not reserved yet; if "
        "the sale ends before they are, `won` becomes `not_won`. `not_won` can become `won` when winners do not pay. "
        "`passed_on`: the hold ended, and the units went to the next.",
    )
    place = serializers.IntegerField(allow_null=True, help_text="In the drawn order of the item; null before the draw.")
    status_url = serializers.CharField(allow_null=True, help_text="The reservation, once units are held for the entry.")


class DrawSerializer(serializers.Serializer[Any]):
    stage = serializers.ChoiceField(list(DrawStage))
    entries_close_at = TimeField()
    seed_sha256 = serializers.CharField(help_text="SHA-256 of the seed, published with the sale.")
    entries = serializers.IntegerField(help_text="How many there are.")
    units_asked = serializers.IntegerField(help_text="How many units they ask for together.")
    entries_sha256 = serializers.CharField(
        allow_null=True, help_text="SHA-256 of the sorted lines `item entry units`; null while entries are taken."
    )
    units = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        allow_null=True,
        help_text="By item: how many units were drawn, null for no limit; null as a whole while entries are taken.",
    )
    seed = serializers.CharField(allow_null=True, help_text="32 bytes in hexadecimal; null until the draw.")
    file_url = serializers.CharField(allow_null=True, help_text="The whole draw as one file; null until the draw.")


class EntryView(JsonAPIView):
    """The entry of the signed-in account in the draw of a sale item."""

    @extend_schema(
        request=EntryRequestSerializer,
        responses={
            201: EntrySerializer,
            **refusals(
                *(*SIGNED_IN, *BODY_REFUSALS, "too_many_attempts"),
                *("no_draw", "entries_closed", "limit_reached"),
                *(Guard.MAIL_NOT_CONFIRMED, Guard.ACCOUNT_TOO_NEW, Guard.TOO_MANY_ACCOUNTS),
            ),
        },
    )
    def post(self, request: Request, item_id: int) -> HttpResponse:
        """Enter. Each account has one entry: a second call hears the first one, also with other units."""
        body = EntryRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        item = get_object_or_404(published_items(), pk=item_id)
        account_id, units = cast(int, request.user.pk), body.validated_data["units"]
        if not item.sale.has_draw:
            return no_draw()
        take(action="draw", rate=ENTER_LIMIT, key=str(account_id))
        network = client_network(request._request)
        guarded = guarded_call(request._request, sale=item.sale, buyer_id=account_id, network=network)
        if refused := why_refused(guarded, item=item, units=units):
            return problem(**guard_problem(refused))
        answer = enter(item=item, buyer_id=account_id, units=units, network=network)
        if answer.word is EntryWord.ENTRIES_CLOSED:
            return entries_closed()
        if answer.entry is None:
            return too_many_units(item)
        remember_language(request)
        return entry_response(answer.entry, status=201, is_repeated=answer.word is EntryWord.ALREADY_ENTERED)

    @extend_schema(responses={200: EntrySerializer, **refusals(*SIGNED_IN)})
    def get(self, request: Request, item_id: int) -> HttpResponse:
        """The entry, and what came of it."""
        return entry_response(get_object_or_404(DrawEntry, item=item_id, buyer=request.user.pk))

    @extend_schema(
        responses={
            204: OpenApiResponse(description="The account has no entry."),
            **refusals(*SIGNED_IN, "too_many_attempts", "no_draw", "entries_closed"),
        }
    )
    def delete(self, request: Request, item_id: int) -> HttpResponse:
        """Withdraw, until the entries close."""
        item, account_id = get_object_or_404(published_items(), pk=item_id), cast(int, request.user.pk)
        if not item.sale.has_draw:
            return no_draw()
        take(action="draw", rate=ENTER_LIMIT, key=str(account_id))
        return HttpResponse(status=204) if withdraw(item=item, buyer_id=account_id) else entries_closed()


@method_decorator(public_answer, name="dispatch")
class DrawView(APIView):
    """What is published of the draw of a sale."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(parameters=[IF_NONE_MATCH], responses={200: DrawSerializer, **UNCHANGED, **refusals("not_found")})
    def get(self, request: Request, sale_id: int) -> Response:
        draw = get_object_or_404(Draw.objects.select_related("sale").defer("file"), pk=sale_id)
        return Response(published_draw(draw))


class DrawFileView(APIView):
    """The whole draw as one file, from the draw on: all entries with their places, and all that recomputing takes.

    It never changes, and names nobody. `verify_draw.py` on the page of the draw checks it.
    """

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        parameters=[IF_NONE_MATCH],
        responses={200: OpenApiResponse({"type": "object"}), **UNCHANGED, **refusals("not_found")},
    )
    def get(self, request: Request, sale_id: int) -> Any:
        drawn = Draw.objects.filter(pk=sale_id, drawn_at__isnull=False)
        entries_hash = drawn.values_list("entries_sha256", flat=True).first()
        if entries_hash is None:
            raise Http404
        tag = f'"{entries_hash}"'
        unchanged = get_conditional_response(request._request, etag=tag)
        answer = unchanged or HttpResponse(drawn.values_list("file", flat=True).get(), content_type="application/json")
        answer["ETag"], answer["Cache-Control"] = tag, FILE_CACHE_CONTROL
        answer["Content-Disposition"] = f'attachment; filename="draw-{sale_id}.json"'
        return answer


def entry_response(entry: DrawEntry, *, status: int = 200, is_repeated: bool = False) -> Response:
    response = Response(entry_body(entry), status=status, headers={"Cache-Control": "no-store"})
    if is_repeated:
        response["Idempotent-Replayed"] = "true"
    return response


def no_draw() -> HttpResponse:
    return problem(
        status=409,
        code="no_draw",
        title=_("This sale has no draw"),
        detail=_("Get a pass for an item of the sale instead."),
    )


def entries_closed() -> HttpResponse:
    return problem(
        status=410,
        code="entries_closed",
        title=_("The entries have closed"),
        detail=_("Entries for this draw were taken until the opening of the sale."),
    )


def too_many_units(item: SaleItem) -> HttpResponse:
    return problem(
        status=409,
        code="limit_reached",
        title=_("Too many units"),
        detail=_("Each account can ask for up to %(units)d of it.") % {"units": item.per_buyer_max},
        remaining=item.per_buyer_max,
        per_buyer_max=item.per_buyer_max,
    )
