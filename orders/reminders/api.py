"""`POST /api/v1/reminders/`: a mail before a sale opens, or when something is back."""

from typing import Any

from django.conf import settings
from django.http import Http404
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from orders.checkout.serializers import EMAIL_LENGTH_MAX
from orders.problem_codes import refusals
from orders.reminders import subscribing
from orders.reminders.reminder_target import Target, find_target
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.problem_codes import BODY_REFUSALS
from shop.http.rate_limits import take
from shop.http.serializers import StrictSerializer
from shop.models import Variant

# Beyond it, PostgreSQL has no such number.
ID_MAX = 2**63 - 1


class ReminderRequestSerializer(StrictSerializer):
    sale = serializers.IntegerField(min_value=1, max_value=ID_MAX, required=False, help_text="That will open.")
    item = serializers.IntegerField(min_value=1, max_value=ID_MAX, required=False, help_text="Of a sale.")
    sku = serializers.CharField(max_length=64, required=False, help_text="Of an ordinary product.")
    email = serializers.EmailField(
        max_length=EMAIL_LENGTH_MAX, required=False, help_text="Without it, the confirmed address of the account."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len({"sale", "item", "sku"} & attrs.keys()) != 1:
            raise serializers.ValidationError({"sale": _("Send exactly one of sale, item and sku.")})
        return attrs


class ReminderSerializer(serializers.Serializer[Any]):
    about = serializers.CharField()
    status = serializers.ChoiceField(
        ["waiting", "to_confirm"],
        help_text="`to_confirm`: the mail leaves once the owner of the address has pressed the button of a mail.",
    )


class ReminderView(JsonAPIView):
    """Ask for one mail: before a sale opens, or when an item or a product that is sold out is back.

    Signed in, for the confirmed address of the account; for any other address its owner is asked first. The answer is
    the same whether that was done before. Repeating the call makes no second mail.
    """

    permission_classes = (AllowAny,)

    @extend_schema(
        request=ReminderRequestSerializer,
        responses={
            202: ReminderSerializer,
            **refusals(*BODY_REFUSALS, "authentication_failed", "csrf_failed", "not_found", "too_many_attempts"),
        },
    )
    def post(self, request: Request) -> Response:
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
            subscribing.subscribe_account(target=target, user_id=user_id, email=email, language=language)
            return answer(target, "waiting")
        subscribing.subscribe_guest(target=target, email=email, language=language)
        return answer(target, "to_confirm")


def target_asked_for(asked: dict[str, Any]) -> Target:
    """Raises Http404 where nothing is to be waited for."""
    if "sku" in asked:
        pk = Variant.objects.filter(sku=asked["sku"]).values_list("pk", flat=True).first()
        target = find_target("variant", pk) if pk else None
    else:
        (kind,) = {"sale", "item"} & asked.keys()
        target = find_target(kind, asked[kind])
    if target is None or not target.is_open:
        raise Http404
    return target


def answer(target: Target, status: str) -> Response:
    return Response({"about": target.name, "status": status}, status=202, headers={"Cache-Control": "no-store"})
