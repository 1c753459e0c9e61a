"""Challenges for sales that ask for a proof of work before a pass (seckill/guards/proof_of_work.py)."""

from typing import cast

from django.conf import settings
from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from seckill.api.problem_codes import refusals
from seckill.api.serializers import ChallengeSerializer
from seckill.api.views import no_pass_now
from seckill.guards.guard_texts import guard_problem
from seckill.guards.pass_guards import Guard, GuardRefused, check_account
from seckill.guards.proof_of_work import new_challenge
from seckill.live.answer_counts import answer_counts
from seckill.passes.sale_times import find_sale_times
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.compression import uncompressed
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.rate_limits import Limit, take_all
from shop.http.serializers import StrictSerializer


@method_decorator(uncompressed, name="dispatch")
class ChallengeView(JsonAPIView):
    """A challenge for the signed-in buyer, to be solved for one pass of the sale. Only where the sale asks for proof.

    It is one of ALTCHA, version 2: the number is to be found for which PBKDF2 of `nonce` and the number (four bytes,
    the highest first), with `salt` and `cost`, begins with `keyPrefix`. Send it as `proof` with the call for the pass:
    base64 of `{"challenge": …, "solution": {"counter": …, "derivedKey": …}}`. The guide for clients has a program.
    """

    @extend_schema(
        request=None,
        responses={
            201: ChallengeSerializer,
            **refusals(
                *(*TOKEN_REFUSALS, *BODY_REFUSALS, "csrf_failed", "not_found"),
                *("too_many_attempts", "drawn", "too_early", "closed"),
                *(Guard.MAIL_NOT_CONFIRMED, Guard.ACCOUNT_TOO_NEW),
            ),
        },
    )
    def post(self, request: Request, item_id: int) -> HttpResponse:
        StrictSerializer(data=request.data).is_valid(raise_exception=True)
        sale = find_sale_times(item_id)
        if sale is None or not sale.proof_of_work:
            raise Http404
        buyer_id, network = cast(int, request.user.pk), client_network(request._request)
        if refused := no_pass_now(sale, timezone.now()):
            return refused
        take_all(
            Limit("challenge", settings.PASS_LIMIT, str(buyer_id)),
            Limit("challenge_by_network", settings.PASS_LIMIT_BY_NETWORK, f"{network}:{item_id}"),
        )
        try:
            check_account(sale=sale, buyer_id=buyer_id)
        except GuardRefused as error:
            answer_counts.add(item_id, error.guard.value)
            return problem(**guard_problem(error))
        challenge = new_challenge(sale_id=sale.pk, buyer_id=buyer_id, network=network)
        return Response(challenge, status=201, headers={"Cache-Control": "no-store"})
