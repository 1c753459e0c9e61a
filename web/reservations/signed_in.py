"""Ordinary calls of people who are signed in: passes, the status of a reservation, and what is personal on a page.

shop/accounts/caller.py finds the caller, with the checks of the views. For passes, opening and end of the sale are
remembered for a second. That is safe: a pass only permits to ask, and the script decides.
"""

import time
from typing import Any

import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.utils import timezone
from django.utils.translation import override

from orders.api.me import me_body
from orders.api.reservation_status import find_status
from seckill.api.views import pass_body
from seckill.models import Sale
from seckill.passes.sale_times import find_sale_times
from seckill.store.client import StoreUnreachable
from seckill.waiting_room.standing import why_not_let_in
from shop.accounts.caller import Caller, find_caller
from shop.http.client_address import client_network
from shop.http.problems import is_outage
from shop.http.rate_limits import LimitReached
from shop.http.utf8_requests import Utf8Request
from shop.languages.buyer_language import is_language_chosen
from web.reservations.calls import Kind, OrdinaryCall
from web.wsgi_request import environ_of

log = structlog.get_logger(__name__)

REMEMBERED_SECONDS = 1.0
# Clients ask for these by their ids; only items that exist are remembered.
ITEMS_MAX = 1_000


class SignedInCalls:
    """Called from many threads."""

    def __init__(self) -> None:
        # For each item: its sale, and until when that is remembered. The sale has no other fields than its times.
        self._sales: dict[int, tuple[float, Sale]] = {}

    def content(self, call: OrdinaryCall, *, language: str) -> dict[str, Any] | None:
        """The body of the view's answer; None if the view must decide. `language` is that of the client."""
        if is_connection_old():
            return None
        request = Utf8Request(environ_of(call.scope))
        try:
            caller = find_caller(request)
            if caller is None:
                return None
            # No middleware has set the thread's language, and a place in line has a note for people.
            with override(language):
                return self._content(call, request, caller, language=language)
        except (StoreUnreachable, LimitReached):
            return None
        except Exception as error:
            # The view meets the same error, and answers it.
            if not is_outage(error):
                log.exception("hot_lane_failed", kind=call.kind)
            return None

    def _content(
        self, call: OrdinaryCall, request: WSGIRequest, caller: Caller, *, language: str
    ) -> dict[str, Any] | None:
        if call.reservation_id is not None:
            return find_status(buyer_id=caller.user_id, reservation_id=call.reservation_id)
        if call.kind is Kind.ME:
            return personal_parts(call, request, caller)
        return self._pass(call, request, caller, language=language)

    def _pass(
        self, call: OrdinaryCall, request: WSGIRequest, caller: Caller, *, language: str
    ) -> dict[str, Any] | None:
        # The view remembers the language of the client for mails.
        if is_language_chosen(request) and caller.language != language:
            return None
        sale = self._sale_of(call.object_id)
        # A sale with rules of its own is for the view.
        if sale is None or sale.guards_passes or sale.why_no_pass(timezone.now()):
            return None
        if sale.has_room and why_not_let_in(sale_id=sale.pk, account_id=caller.user_id):
            return None
        network = client_network(request)
        return pass_body(sale=sale, item_id=call.object_id, buyer_id=caller.user_id, network=network)

    def _sale_of(self, item_id: int) -> Sale | None:
        """The item's sale with its times and rules alone. None if buyers may not see the item."""
        now_s, remembered = time.monotonic(), self._sales.get(item_id)
        if remembered is not None and now_s < remembered[0]:
            return remembered[1]
        sale = find_sale_times(item_id)
        if sale is None:
            return None
        if len(self._sales) >= ITEMS_MAX:
            self._sales = {}
        self._sales[item_id] = now_s + REMEMBERED_SECONDS, sale
        return sale


def personal_parts(call: OrdinaryCall, request: WSGIRequest, caller: Caller) -> dict[str, Any] | None:
    # The view gives a browser its token for forms, if it has none.
    if request.COOKIES and "CSRF_COOKIE" not in request.META:
        return None
    return me_body(buyer_id=caller.user_id, name=caller.name, language=caller.language, sale_id=call.object_id or None)


def is_connection_old() -> bool:
    """Whether Django would renew or check this thread's connection to PostgreSQL before a request, which it does."""
    if connection.connection is None:
        return False
    return connection.errors_occurred or (connection.close_at is not None and time.monotonic() >= connection.close_at)
