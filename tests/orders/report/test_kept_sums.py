"""The sums of a sale are kept a day after its end: once, and again if the sale was opened again."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from orders import tasks
from orders.account.deletion import delete_account
from orders.life import lifecycle
from orders.models import KeptReport, ShippingAddress
from orders.report import kept_sums
from seckill.live import answer_counts
from seckill.models import Sale, SaleItem
from seckill.outcomes import Outcome
from shop.languages.buyer_language import store_language
from tests.steps.at_once import at_once
from tests.steps.buying import ADDRESS, order_of, with_address
from tests.steps.staff import sale_report
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


def count(item: SaleItem, times: int) -> None:
    second = int(Sale.objects.get(pk=item.sale_id).opens_at.timestamp())
    answer_counts.add_to_sums({(item.pk, Outcome.SOLD_OUT): times}, second=second)


def end(item: SaleItem, *, days_ago: float = 2) -> None:
    now = timezone.now()
    times = {"opens_at": now - timedelta(days=5), "closes_at": now - timedelta(days=days_ago)}
    Sale.objects.filter(pk=item.sale_id).update(**times)


def sold_out_of(item: SaleItem) -> int:
    return sale_report(item).sums.words[Outcome.SOLD_OUT]


def test_it_stays_when_the_cache_is_emptied_and_an_account_is_deleted(item: SaleItem, buyer: User) -> None:
    with_address(buyer)
    order = order_of(item, buyer)
    lifecycle.pay(order_id=order.pk)
    lifecycle.ship(order_id=order.pk)
    lifecycle.complete(order_id=order.pk)
    store_language(user_id=buyer.pk, language="zh-hans")
    ShippingAddress.objects.create(order=order, **ADDRESS)
    end(item)
    count(item, 7)
    before = sale_report(item)
    assert tasks.keep_sale_reports() == 1
    cache.clear()
    delete_account(buyer.pk)
    after = sale_report(item)
    assert after.sums.words == before.sums.words == {**dict.fromkeys(answer_counts.WORDS, 0), "sold_out": 7}
    assert after.sums.minutes == before.sums.minutes
    assert (after.sums.buyers, after.sums.countries, after.sums.languages) == (1, {"CN": 1}, {"zh-hans": 1})
    assert (before.sums.kept_at, after.sums.kept_at) == (None, KeptReport.objects.get().made_at)
    # It has sums, and nothing about a person.
    kept = str(KeptReport.objects.get().sums)
    assert not [text for text in (*ADDRESS.values(), "buyer@example.com") if text != "CN" and text in kept]


def test_it_is_kept_a_day_after_the_end_and_once(item: SaleItem) -> None:
    count(item, 1)
    end(item, days_ago=0.9)
    assert tasks.keep_sale_reports() == 0
    end(item, days_ago=1.1)
    sale = Sale.objects.get(pk=item.sale_id)
    at_once([lambda: kept_sums.keep(sale)] * 4)
    made_at = KeptReport.objects.get().made_at
    count(item, 1)
    assert tasks.keep_sale_reports() == 0
    assert (KeptReport.objects.get().made_at, sold_out_of(item)) == (made_at, 1)


def test_a_sale_whose_units_are_held_for_days_is_kept_when_all_have_paid(item: SaleItem, buyer: User) -> None:
    # Given a hold of three days, whose buyer pays on the last one
    Sale.objects.filter(pk=item.sale_id).update(hold_seconds=3 * 24 * 3600)
    order = order_of(item, buyer)
    end(item, days_ago=2.9)
    assert tasks.keep_sale_reports() == 0
    lifecycle.pay(order_id=order.pk)
    # When the report is kept, a day after the last hold
    end(item, days_ago=4.1)
    assert tasks.keep_sale_reports() == 1
    # Then the buyer is in it
    assert sale_report(item).sums.buyers == 1


def test_a_sale_that_was_opened_again_is_kept_again(item: SaleItem) -> None:
    count(item, 7)
    end(item, days_ago=3)
    tasks.keep_sale_reports()
    # Staff move its end; until the next sweep the report is of now.
    end(item, days_ago=2)
    count(item, 2)
    assert sold_out_of(item) == 9
    assert tasks.keep_sale_reports() == 1
    assert sold_out_of(item) == 9
    # Once more, after the cache server was emptied: what was known stays.
    cache.clear()
    end(item, days_ago=1.5)
    assert tasks.keep_sale_reports() == 1
    assert (sold_out_of(item), len(sale_report(item).sums.minutes)) == (9, 1)


def test_while_the_cache_is_away_nothing_is_kept(item: SaleItem, settings: Settings) -> None:
    count(item, 7)
    end(item)
    former = store_away(settings, "default")
    assert tasks.keep_sale_reports() == 0
    settings.CACHES = former
    assert not KeptReport.objects.exists()
    assert tasks.keep_sale_reports() == 1


def test_the_minutes_of_a_long_sale_are_added_up_also_when_it_is_kept_again(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def curve() -> tuple[int, list[int]]:
        assert tasks.keep_sale_reports() == 1
        sums = sale_report(item).sums
        return sums.step_minutes, [counts["sold_out"] for counts in sums.minutes.values()]

    monkeypatch.setattr(kept_sums, "POINTS_MAX", 6)
    end(item)
    second = int(Sale.objects.get(pk=item.sale_id).opens_at.timestamp()) // 300 * 300
    for minutes, expected in ((range(1, 7), (1, [1] * 6)), (range(7, 21), (5, [4, 5, 5, 5, 1]))):
        for minute in minutes:
            answer_counts.add_to_sums({(item.pk, Outcome.SOLD_OUT): 1}, second=second + 60 * minute)
        # Its end was moved.
        Sale.objects.filter(pk=item.sale_id).update(closes_at=F("closes_at") + timedelta(minutes=1))
        assert curve() == expected
    cache.clear()
    Sale.objects.filter(pk=item.sale_id).update(closes_at=F("closes_at") + timedelta(minutes=1))
    assert curve() == expected


def test_sums_that_another_release_has_kept_are_read(item: SaleItem) -> None:
    """During a rolling update a newer release keeps more; an older one has kept less."""
    count(item, 7)
    end(item)
    tasks.keep_sale_reports()
    kept = KeptReport.objects.get()
    del kept.sums["arrivals"]
    kept.sums["later_idea"] = {"x": 1}
    kept.save()
    assert (sold_out_of(item), sale_report(item).sums.arrivals) == (7, {})
