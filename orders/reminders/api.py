"""`/api/v1/reminders/`: wanting a mail before a sale opens, or when something is back, and wanting it no more."""

from typing import Any, cast

from django.conf import settings
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from orders.checkout.serializers import EMAIL_LENGTH_MAX
from orders.problem_codes import refusals
from orders.reminders import subscribing
from orders.reminders.reminder_target import Target, find_target
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.rate_limits import take
from shop.http.serializers import QueryParameters, StrictSerializer
from shop.models import Variant

# Beyond it, PostgreSQL has no such number.
ID_MAX = 2**63 - 1


class AboutSerializer(StrictSerializer):
    sale = serializers.IntegerField(min_value=1, max_value=ID_MAX, required=False, help_text="That will open.")
    item = serializers.IntegerField(min_value=1, max_value=ID_MAX, required=False, help_text="Of a sale.")
    sku = serializers.CharField(max_length=64, required=False, help_text="Of an ordinary product.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len({"sale", "item", "sku"} & attrs.keys()) != 1:
            raise serializers.ValidationError({"sale": _("Send exactly one of sale, item and sku.")})
        return attrs


class ReminderQuery(QueryParameters, AboutSerializer):
    """What the mail would be about, in the query of the address."""


class ReminderRequestSerializer(AboutSerializer):
    email = serializers.EmailField(
        max_length=EMAIL_LENGTH_MAX, required=False, help_text="Without it, the confirmed address of the account."
    )


class ReminderSerializer(serializers.Serializer[Any]):
    about = serializers.CharField()
    status = serializers.ChoiceField(
        ["waiting", "to_confirm"],
        help_text="`to_confirm`: the mail leaves once the owner of the address has pressed the button of a mail.",
    )


class ReminderView(JsonAPIView):
    def get_permissions(self) -> list[BasePermission]:
        is_deletion = self.request is not None and self.request.method == "DELETE"
        return [IsAuthenticated() if is_deletion else AllowAny()]

    @extend_schema(
        request=ReminderRequestSerializer,
        responses={
            202: ReminderSerializer,
            **refusals(*BODY_REFUSALS, "authentication_failed", "csrf_failed", "not_found", "too_many_attempts"),
            **refusals("too_many_reminders"),
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Ask for one mail: before a sale opens, or when an item or a product that is sold out is back.

        Signed in, for the confirmed address of the account; for any other address its owner is asked first. The answer
        is the same whether that was done before. Repeating the call makes no second mail. Items of a draw are not
        waited for: what comes back goes to the next in the drawn order.
        """
        body = ReminderRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        take(action="reminder", rate=settings.REMINDER_LIMIT, key=client_network(request._request))
        target = target_asked_for(body.validated_data)
        user_id: int | None = request.user.pk
        language = get_language() or settings.LANGUAGE_CODE
        own = subscribing.confirmed_address(user_id) if user_id else ""
        email = body.validated_data.get("email", own)
        if not email:
            raise serializers.ValidationError({"email": _("Send an address: the account has none that is confirmed.")})
        if user_id and email == own:
            if subscribing.subscribe_account(target=target, user_id=user_id, email=email, language=language):
                return answer(target, "waiting")
            return problem(
                status=409,
                code="too_many_reminders",
                title=_("Too many reminders"),
                detail=subscribing.too_many_reminders_text(),
            )
        subscribing.subscribe_guest(target=target, email=email, language=language)
        return answer(target, "to_confirm")

    @extend_schema(
        parameters=[ReminderQuery],
        responses={
            204: OpenApiResponse(description="The account waits for no such mail."),
            **refusals(*TOKEN_REFUSALS, "csrf_failed", "invalid", "too_many_attempts"),
        },
    )
    def delete(self, request: Request) -> Response:
        """Want a mail no more, also one that was asked for as a guest with the confirmed address of the account.

        An address without an account stops its mails by the link in each.
        """
        asked = ReminderQuery.of(request)
        take(action="reminder", rate=settings.REMINDER_LIMIT, key=client_network(request._request))
        kind, pk = kind_and_id(asked)
        if pk is not None:
            subscribing.stop_one(kind=kind, pk=pk, user_id=cast(int, request.user.pk))
        return Response(status=204)


def kind_and_id(asked: dict[str, Any]) -> tuple[str, int | None]:
    """The column of Reminder, and the id; None for a SKU that does not exist."""
    if "sku" in asked:
        return "variant", Variant.objects.filter(sku=asked["sku"]).values_list("pk", flat=True).first()
    (kind,) = {"sale", "item"} & asked.keys()
    return kind, asked[kind]


def target_asked_for(asked: dict[str, Any]) -> Target:
    """Raises Http404 where nothing is to be waited for."""
    kind, pk = kind_and_id(asked)
    target = find_target(kind, pk) if pk is not None else None
    if target is None or not target.is_open:
        raise Http404
    return target


def answer(target: Target, status: str) -> Response:
    return Response({"about": target.name, "status": status}, status=202, headers={"Cache-Control": "no-store"})
