"""`manage.py remove_load_tests` removes what load tests left, and nothing else."""

import io
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils import timezone
from pytest_django import Settings

from bench import load_removal
from bench.load_buyers import load_buyer_ids
from bench.load_sale import open_load_items, open_load_sale
from orders.life import lifecycle
from orders.models import Mail, Order, Payment, PaymentEvent
from orders.payments.simulated.models import SimulatedSession
from seckill import ledger
from seckill.items import item_state
from seckill.live.staff_figures import figures_of
from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product
from tests.steps.buying import order_of, reserve
from tests.steps.operating import run_command
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.shop import make_product, variant_of
from tests.steps.staff import change
from tests.steps.store import store_away

run = partial(run_command, "remove_load_tests")

pytestmark = pytest.mark.django_db(transaction=True)


def load_test_buyers(count: int) -> list[User]:
    return list(User.objects.filter(pk__in=load_buyer_ids(count=count)).order_by("pk"))


def load_sale() -> SaleItem:
    return open_load_sale(name="Load test", quantity=50, per_buyer_max=1, open_seconds=900, hold_seconds=900)


def close(item: SaleItem) -> None:
    now = timezone.now()
    Sale.objects.filter(pk=item.sale_id).update(opens_at=now - timedelta(hours=2), closes_at=now - timedelta(hours=1))


@pytest.fixture
def tested() -> SaleItem:
    """A load test that is over: orders paid to the simulated company, to staff and not at all; one is in the outbox."""
    item = load_sale()
    buyers = load_test_buyers(5)
    through_company, by_staff, _unpaid = (order_of(item, buyer) for buyer in buyers[:3])
    send_webhook(message(payment_of(through_company)))
    lifecycle.pay(order_id=by_staff.pk)
    reserve(item, buyers[3])
    change(item, SaleChange.Kind.PAUSE)
    close(item)
    return item


def test_sales_orders_products_buyers_and_keys_of_load_tests_go(tested: SaleItem, store: Any) -> None:
    assert store.keys(f"seckill:{{{tested.pk}}}:*")
    assert "Removed 1 sale, 3 orders, 5 buyers." in run("--yes")
    for model in (Order, Payment, PaymentEvent, SimulatedSession, Mail, Sale, SaleItem, SaleChange, Product, User):
        assert not model.objects.exists(), model
    assert not store.keys("*")
    assert "There is nothing to remove." in run("--yes")


def test_nothing_else_is_touched(tested: SaleItem, item: SaleItem, buyer: User, store: Any) -> None:
    # Given a real sale with a real order, and things that only look like those of a load test
    order = order_of(item, buyer)
    make = User.objects.create_user
    lookalikes = [
        make("load-000099", password="a-person-s-password"),
        make("load-balancer"),
        make("load-12"),
        make("my-load-000001"),
    ]
    hidden = make_product(name="Hidden", slug="load-test-of-cranes", price_minor=5, is_active=False)
    shown = make_product(name="Shown", slug="load-test-7", price_minor=5, is_active=True)
    unlisted = Sale.objects.create(name="Private", opens_at=item.sale.opens_at, closes_at=timezone.now(), listed=False)
    for product in (hidden, shown):
        SaleItem.objects.create(sale=unlisted, variant=variant_of(product), price_minor=5, quantity=1)
    before = figures_of([item])
    # When the leftovers of a load test are removed
    run("--yes")
    # Then all of that is as it was
    assert Order.objects.get() == order
    assert figures_of([item]) == before
    assert set(Sale.objects.all()) == {item.sale, unlisted}
    assert set(Product.objects.all()) == {item.product, hidden, shown}
    assert set(User.objects.all()) == {buyer, *lookalikes}


def test_a_sale_that_is_open_is_kept_with_all_buyers(tested: SaleItem) -> None:
    running = load_sale()
    said = run("--yes")
    assert said.splitlines() == [
        "1 sale still open, kept with all load-test buyers until it is over.",
        "Removed 1 sale, 3 orders, 0 buyers.",
    ]
    assert Sale.objects.get().pk == running.sale_id
    assert User.objects.count() == 5
    assert ledger.read(item_id=running.pk) is not None


def test_what_a_person_or_a_real_company_has_to_do_with_is_kept(tested: SaleItem, item: SaleItem, buyer: User) -> None:
    # A load-test buyer with an order in a real sale, a person with one in a load test, a payment of a real company.
    (load_buyer,) = load_test_buyers(1)
    in_real_sale = order_of(item, load_buyer)
    bought = load_sale()
    order = order_of(bought, buyer)
    close(bought)
    Payment.objects.update(provider="stripe")
    said = run("--yes")
    assert "2 sales kept because of orders of other buyers or real payments." in said
    assert "1 buyer kept because of orders in other sales." in said
    assert Order.objects.count() == 5
    # Only the real payment goes: then so do its sale and the other buyers.
    Payment.objects.update(provider="simulated")
    assert "1 sale kept because of orders of other buyers or real payments." in run("--yes")
    assert set(Order.objects.all()) == {in_real_sale, order}
    assert set(User.objects.all()) == {load_buyer, buyer}
    assert ledger.read(item_id=bought.pk) is not None
    assert SaleItem.objects.get(pk=item.pk).taken == 1


def test_a_run_of_several_items_that_is_killed_anywhere_is_continued_by_the_next_in_batches(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    monkeypatch.setattr(load_removal, "BATCH_MAX", 2)
    items = open_load_items(name="Load test", quantities=[4, 2], per_buyer_max=1, open_seconds=900, hold_seconds=900)
    for item, buyer in zip([items[0], *items, items[0]], load_test_buyers(4), strict=True):
        # Still in the outbox.
        reserve(item, buyer)
    close(items[0])
    for place in ("orders.life.intake.drain_all", "seckill.items.item_state.remove", "seckill.models.Sale.delete"):
        with monkeypatch.context() as killed:
            killed.setattr(place, mock.Mock(side_effect=Killed))
            with pytest.raises(Killed):
                run("--yes")
    sizes: list[int] = []
    load_removal.remove(on_progress=sizes.append)
    assert max(sizes) <= 2
    for model in (Order, Sale, SaleItem, Product, User):
        assert not model.objects.exists(), model
    assert not store.keys("*")


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda answer: monkeypatch.setattr("sys.stdin", io.StringIO(answer))


def test_it_asks_first(tested: SaleItem, answering: Callable[[str], None]) -> None:
    answering("\n")
    assert "Nothing was removed." in run()
    answering("")
    with pytest.raises(CommandError, match="With --yes it does not ask"):
        run()
    assert Order.objects.exists()
    answering("y\n")
    assert "Removed 1 sale" in run()


def test_with_the_store_down_it_says_so(tested: SaleItem, settings: Settings) -> None:
    store_away(settings)
    with pytest.raises(CommandError, match="The reservation store does not answer"):
        run("--yes")
    assert Order.objects.exists()


def test_an_item_is_removed_with_its_outbox_and_its_dead_letters(item: SaleItem, store: Any) -> None:
    store.xadd(f"seckill:{{{item.pk}}}:dead", {"reason": "a test"})
    item_state.remove(item_id=item.pk)
    assert not store.keys("*")
