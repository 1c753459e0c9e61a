"""The webhook for payment providers. Public, signed, and answered with 2xx only after the commit."""

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orders.payments import inbox, provider_choice
from orders.payments.provider.interface import RETRY_SECONDS, Forged, ProviderUnreachable, TooOld
from orders.payments.provider.names import chosen_providers
from orders.problem_codes import refusals
from shop.http.base_view import JsonAPIView
from shop.http.problems import problem


class WebhookView(JsonAPIView):
    """Messages from a payment provider, signed over the raw body. A repeated one gets 200 again and has no effect."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        responses={
            200: OpenApiResponse(description="Received; do not send it again."),
            **refusals(
                *("signature_invalid", "signature_expired", "not_found", "length_required", "body_too_large"),
                "provider_unreachable",
            ),
        },
    )
    def post(self, request: Request, provider: str) -> HttpResponse:
        if provider not in chosen_providers():
            raise Http404
        try:
            # The signature covers the raw bytes of the body.
            event = provider_choice.provider_named(provider).read_event(
                body=request._request.body, headers=request.headers
            )
        except Forged:
            return problem(
                status=400,
                code="signature_invalid",
                title=_("The signature is not valid"),
                detail=_("The body was not signed with this shop's secret, or it was altered on the way."),
            )
        except TooOld:
            return problem(
                status=400,
                code="signature_expired",
                title=_("The signature has expired"),
                detail=_("The message was signed too long ago. Sign it again and resend it."),
            )
        except ProviderUnreachable:
            return problem(
                status=503,
                code="provider_unreachable",
                title=_("The payment provider does not answer"),
                detail=_("The shop has to ask for more about this message. Send it again."),
                retry_after_seconds=RETRY_SECONDS,
            )
        if event is not None:
            inbox.receive(provider_name=provider, event=event)
        return Response(status=200)
