"""Nine of ten calls are bots': searches, a sold-out item, passes. The verdict is the share of buyers who succeed."""

import itertools
import threading
import time
from collections.abc import Sequence

from django.conf import settings

from bench.faults.buyer_journey import Demand
from bench.faults.fault import TrialContext
from bench.faults.kinds.frozen_servers import SellingGoesOn
from bench.faults.payer import RETRY_SECONDS
from bench.faults.shop_under_test import WEBS
from bench.faults.trial_sale import Credentials, Stock, credentials_for, new_item
from bench.faults.wire.http_client import BuyerClient, request
from bench.load_sale import retire

BOTS = 24
# Each bot has several accounts, and each call another network: limits alone must not be what keeps them away.
ACCOUNTS_PER_BOT = 4
FIRST_BOT = 5_000
VISITORS = 30
# A buyer's pass and reservation together; longer is a failure.
SUCCESS_SECONDS_MAX = 5.0
SHARE_MIN = 0.95
BOTS_PER_CALL_MIN = 9
# Calls of a buyer whose pass and reservation are answered at once.
CALLS_OF_BUYER = 2


class Bots(SellingGoesOn):
    name = "bots"
    description = f"{BOTS} bots search, ask for passes and for a sold-out item as fast as they can, for 15 s"
    duration_seconds = 15.0
    stock = Stock(quantity=200)
    demand = Demand(buyers=20, arrival_seconds=18.0)

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._visitors = [context.extra_buyer(f"visitor-{number}", number=number) for number in range(VISITORS)]
        # How long each who succeeded took.
        self._times: list[float] = []
        self._bot_calls = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()

    def hold(self) -> None:
        # With the limit that a shop has for the passes of an account.
        more = {"TRUSTED_PROXIES": "1", "PASS_LIMIT": settings.PASS_LIMIT}
        self.shop.restart(*WEBS, more=more)
        self.shop.await_answers(*WEBS)
        self._sold_out = new_item(f"{self.name}-sold-out", Stock(quantity=1, hold_seconds=600))
        accounts = credentials_for(self._sold_out, count=BOTS * ACCOUNTS_PER_BOT + 1, first=FIRST_BOT)
        self._ask_for_sold_out(accounts.pop(), network="192.0.2.1", port=self.context.ports[0])
        self._threads = [
            threading.Thread(target=self._run_bot, args=(number, accounts[number::BOTS]), daemon=True)
            for number in range(BOTS)
        ]
        self._threads += [
            threading.Thread(target=self._visit, args=(client, number * self.duration_seconds / VISITORS), daemon=True)
            for number, client in enumerate(self._visitors)
        ]
        for thread in self._threads:
            thread.start()

    def let_go(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        retire(self._sold_out)
        self.shop.restart(*WEBS)
        self.happened = self._bot_calls >= BOTS_PER_CALL_MIN * VISITORS * CALLS_OF_BUYER

    def violations(self) -> Sequence[str]:
        times = sorted(self._times)
        share = len(times) / VISITORS
        slowest = f", the slowest in {times[-1]:.1f} s" if times else ""
        self.variant = f"{self._bot_calls} calls of bots, {share:.0%} of {VISITORS} buyers succeeded{slowest}"
        wrong = list(super().violations())
        if share < SHARE_MIN:
            wrong.append(f"{share:.0%} of the buyers succeeded beside the bots, and not {SHARE_MIN:.0%}")
        return wrong

    def _run_bot(self, number: int, accounts: list[Credentials]) -> None:
        ports = itertools.cycle(self.context.ports)
        for round_number in itertools.count():
            if self._stop.is_set():
                return
            account = accounts[round_number % len(accounts)]
            network, port = f"10.{number}.{round_number // 250 % 250}.{round_number % 250}", next(ports)
            headers = {"X-Forwarded-For": network}
            request(port, "GET", f"/search/?q=tea+{number}+{round_number}", headers=headers)
            request(
                port,
                "POST",
                f"/api/v1/sale-items/{self._sold_out.pk}/passes/",
                headers={**headers, "Authorization": f"Bearer {account.token}"},
            )
            self._ask_for_sold_out(account, network=network, port=port)
            with self._lock:
                self._bot_calls += 3

    def _ask_for_sold_out(self, account: Credentials, *, network: str, port: int) -> None:
        headers = {"X-Forwarded-For": network, "Authorization": f"Pass {account.pass_text}"}
        request(port, "POST", f"/api/v1/sale-items/{self._sold_out.pk}/reservations/", headers=headers)

    def _visit(self, client: BuyerClient, after_seconds: float) -> None:
        """A buyer asks for a pass, and reserves with the one that the history knows."""
        self._stop.wait(after_seconds)
        began_s = time.monotonic()
        path = f"/api/v1/sale-items/{self.context.item.pk}/passes/"
        headers = {"Authorization": f"Bearer {client.credentials.token}", "X-Forwarded-For": "198.51.100.1"}
        has_pass, attempt = False, 0
        while time.monotonic() - began_s < SUCCESS_SECONDS_MAX:
            port = client.ports[attempt % len(client.ports)]
            has_pass = has_pass or request(port, "POST", path, headers=headers).status == 201
            if has_pass and client.reserve(item_id=self.context.item.pk, units=1, attempt=attempt).status == 201:
                self._times.append(time.monotonic() - began_s)
                return
            attempt += 1
            time.sleep(RETRY_SECONDS)
