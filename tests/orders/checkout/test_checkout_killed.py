"""A checkout whose process is killed: before the commit nothing has happened, after it the order stands, once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_once
from orders.idempotent_calls import CallState, KeyedCall
from orders.models import CartLine, IdempotentCall, Order
from tests.live_shop import environment
from tests.steps.buying import assert_stock_agrees, fill, wish_of
from tests.steps.shop import goods, units_in

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.django_db(transaction=True)

# The program that is killed.
CHECKOUT = """
import os, sys, uuid, django
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()
from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_once
from orders.idempotent_calls import KeyedCall
from tests.steps.buying import wish_of
holder = Holder(token=uuid.UUID(sys.argv[1]))
place_once(wish_of(holder), KeyedCall(owner=holder.owner, key="key"))
"""


def check_out_and_die(holder: Holder, *, at: str, directory: Path) -> None:
    (directory / at).write_text("1")
    died = subprocess.run(
        [sys.executable, "-c", CHECKOUT, str(holder.token)],
        cwd=ROOT,
        env={**os.environ, **environment(), "FAILPOINTS": str(directory)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr


def repeat(holder: Holder) -> CallState:
    return place_once(wish_of(holder), KeyedCall(owner=holder.owner, key="key")).state


def test_killed_before_the_commit_nothing_has_happened_and_the_repeated_call_orders(tmp_path: Path) -> None:
    tea = goods("tea")
    holder = fill(Holder(), tea=2)
    check_out_and_die(holder, at="checkout.before_commit", directory=tmp_path)
    assert not Order.objects.exists()
    assert not IdempotentCall.objects.exists()
    assert (units_in(tea), CartLine.objects.get().units) == ((10, 0, 0), 2)
    assert repeat(holder) is CallState.NEW
    assert units_in(tea) == (8, 2, 0)
    assert_stock_agrees(tea)


def test_killed_after_the_commit_the_order_stands_and_the_repeated_call_gets_it(tmp_path: Path) -> None:
    tea = goods("tea")
    holder = fill(Holder(), tea=2)
    check_out_and_die(holder, at="checkout.after_commit", directory=tmp_path)
    assert units_in(tea) == (8, 2, 0)
    assert not CartLine.objects.exists()
    assert repeat(holder) is CallState.REPLAYED
    assert Order.objects.count() == 1
    assert_stock_agrees(tea)
