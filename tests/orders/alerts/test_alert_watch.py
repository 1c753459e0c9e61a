"""Staff are told once of each change: sold out, late orders, differences, failed refunds, sales that are not ready."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from pytest_django import Settings

from orders.alerts.alert_watch import watch
from orders.models import Alert, AlertKind, AlertMessage, Attention, Order
from orders.preflight.finding import Finding, Verdict
from orders.repair.audit import remember_result
from seckill.models import SaleChange, SaleItem
from seckill.store.keys import keys_of
from shop.models import Product
from tests.steps.at_once import at_once
from tests.steps.buying import make_orders
from tests.steps.crash import killed_at
from tests.steps.shop import make_item
from tests.steps.staff import change, was_checked
from tests.steps.store import store_away


@pytest.fixture(autouse=True)
def _switched_on(db: None, settings: Settings) -> None:
    settings.ALERT_WEBHOOK_URL, settings.ALERT_MAILS = "http://127.0.0.1:1/hook", []
    cache.clear()


def said() -> list[str]:
    """What was written since the last time, without the address below it."""
    watch()
    texts = [text.partition("\n")[0] for text in AlertMessage.objects.order_by("pk").values_list("text", flat=True)]
    AlertMessage.objects.all().delete()
    return texts


def sell_out(item: SaleItem, store: Any) -> None:
    store.hset(keys_of(item.pk).item, mapping={"left": 0, "held": 0, "sold": 5})


def test_sold_out_is_said_once_and_again_after_units_came_back_and_nothing_at_the_end(
    item: SaleItem, store: Any
) -> None:
    # Units that are only held are not sold out.
    store.hset(keys_of(item.pk).item, mapping={"left": 0, "held": 5, "sold": 0})
    assert said() == []
    sell_out(item, store)
    assert said() == ["Stampede: Sold out: Longjing tea · Spring sale"]
    assert said() == []
    change(item, SaleChange.Kind.ADD_UNITS, units=2)
    assert said() == ["Stampede: Units are left again: Longjing tea · Spring sale"]
    assert said() == []
    sell_out(item, store)
    assert said() == ["Stampede: Sold out: Longjing tea · Spring sale"]
    change(item, SaleChange.Kind.END_NOW)
    assert said() == []
    assert not Alert.objects.exists()


def test_a_store_that_is_away_changes_nothing(item: SaleItem, store: Any, settings: Settings) -> None:
    sell_out(item, store)
    said()
    former = store_away(settings)
    assert said() == []
    assert Alert.objects.get().kind == AlertKind.SOLD_OUT
    settings.CACHES = former
    assert said() == []


def test_late_orders_are_said_and_that_they_are_in_time_again(item: SaleItem, store: Any) -> None:
    seconds, microseconds = store.time()
    now_ms = seconds * 1000 + microseconds // 1000
    entry = store.xadd(keys_of(item.pk).outbox, {"an": "entry"}, id=f"{now_ms - 40_000}-0")
    assert said() == ["Stampede: Reservations wait to become orders, the oldest for 40 seconds."]
    assert said() == []
    store.xdel(keys_of(item.pk).outbox, entry)
    store.xadd(keys_of(item.pk).outbox, {"an": "entry"}, id=f"{now_ms - 20_000}-0")
    # Between the bound and its half it neither begins nor ends.
    assert said() == []
    store.delete(keys_of(item.pk).outbox)
    store.xadd(keys_of(item.pk).outbox, {"an": "entry"})
    assert said() == ["Stampede: Reservations become orders in time again."]


def test_a_difference_that_an_audit_found(item: SaleItem) -> None:
    remember_result(problems_of_item={item.pk: 2})
    assert said() == ["Stampede: An audit found a difference: orders and reservations (2)"]
    # While no audit is known, the alert stays.
    cache.clear()
    assert said() == []
    remember_result(problems_of_item={item.pk: 0})
    assert said() == ["Stampede: The difference is gone: orders and reservations (2)"]


def test_a_refund_that_failed_names_the_order_and_no_person(order: Order, buyer: User) -> None:
    Order.objects.update(attention=Attention.REFUND_FAILS)
    texts = said()
    assert texts == [f"Stampede: Refund failed: {order.shown_code}"]
    assert buyer.username not in texts[0]
    Order.objects.update(attention="")
    assert said() == [f"Stampede: The failed refund is dealt with: {order.shown_code}"]


def test_a_sale_that_is_not_ready_in_the_hour_before(product: Product) -> None:
    item = make_item(product, opens_in_seconds=900)
    assert said() == []
    was_checked(item.sale, Finding(Verdict.STOP, "No worker.", "Start one."))
    assert said() == ["Stampede: Opens within the hour and is not ready: Spring sale"]
    assert said() == []
    was_checked(item.sale)
    assert said() == ["Stampede: Ready now: Spring sale"]


def test_a_sale_that_was_not_ready_two_days_before_is_judged_anew_in_the_hour_before(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = make_item(product, opens_in_seconds=900)
    stop, real_now = Finding(Verdict.STOP, "No worker.", "Start one."), timezone.now
    with monkeypatch.context() as then:
        then.setattr(timezone, "now", lambda: real_now() - timedelta(days=2))
        was_checked(item.sale, stop)
    assert said() == []
    was_checked(item.sale, stop)
    assert said() == ["Stampede: Opens within the hour and is not ready: Spring sale"]


def test_many_at_once_are_one_message(item: SaleItem, buyer: User) -> None:
    make_orders(15, buyer=buyer, item=item)
    Order.objects.update(attention=Attention.REFUND_FAILS)
    (text,) = said()
    assert text.endswith("and 5 more")
    assert Alert.objects.count() == 15


def test_a_killed_process_has_written_alert_and_message_or_neither(item: SaleItem, store: Any) -> None:
    sell_out(item, store)
    with killed_at("alerts.before_commit"):
        watch()
    assert not Alert.objects.exists()
    assert len(said()) == 1


@pytest.mark.django_db(transaction=True)
def test_of_ten_processes_one_writes(item: SaleItem, store: Any) -> None:
    sell_out(item, store)
    assert sum(at_once([watch] * 10)) == 1
    change(item, SaleChange.Kind.ADD_UNITS, units=2)
    assert sum(at_once([watch] * 10)) == 1


def test_a_mail_and_a_chat_get_a_message_each_in_the_language_of_the_settings(
    item: SaleItem, store: Any, settings: Settings
) -> None:
    settings.ALERT_MAILS, settings.ALERT_LANGUAGE = ["ops@example.com"], "zh-hans"
    sell_out(item, store)
    assert watch() == 2
    sent = dict(AlertMessage.objects.values_list("channel", "text"))
    assert set(sent) == {"mail", "webhook"}
    assert all("春季秒杀" in text for text in sent.values())
