"""Each answer to a call to reserve is counted once, by its word, whoever gives it."""

import threading
import time
from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from seckill.live import answer_counts
from seckill.live.answer_counts import AnswerCounts
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.background.process_counts import ProcessCounts
from shop.models import Product
from tests.processes import wait_until
from tests.steps.buying import new_buyers, reserve_by_api
from tests.steps.cast import PassFor
from tests.steps.shop import make_item
from tests.steps.staff import change
from tests.steps.store import store_away
from tests.web.reservations.lane import Lane
from tests.web.reservations.shadow import CountsByHand, Shadow

SECOND = 1_800_000_000


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> CountsByHand:
    """In place of those of the process."""
    by_hand = CountsByHand()
    monkeypatch.setattr(AnswerCounts, "add", lambda _self, item_id, word: by_hand._counts.add((item_id, word)))
    return by_hand


def counted(counts: AnswerCounts, item: SaleItem) -> Counter[str]:
    counts.write(second=SECOND)
    return +Counter(answer_counts.of_items([item.pk])[item.pk])


def test_no_count_is_lost_between_threads_and_the_writer() -> None:
    counts = ProcessCounts[str]()
    start = threading.Barrier(9)

    def count() -> None:
        start.wait()
        for _ in range(20_000):
            counts.add("no")

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    start.wait()
    taken = Counter[str]()
    while any(thread.is_alive() for thread in threads):
        taken += counts.take_new()
    taken += counts.take_new()
    assert taken == {"no": 160_000}
    assert counts.take_new() == {}


@pytest.mark.django_db
def test_views_count_with_a_pass_and_the_page_without_javascript_too(
    item: SaleItem, buyer: User, rival: User, pass_for: PassFor, counts: CountsByHand, client: Client
) -> None:
    mine = pass_for(buyer, item)
    assert [reserve_by_api(item.pk, mine).status_code for _ in range(2)] == [201, 201]
    client.force_login(rival)
    client.post(f"/sale-items/{item.pk}/reserve/", {"pass": pass_for(rival, item), "units": "1"})
    # A second pass of a buyer who has all that one buyer may have.
    client.post(f"/sale-items/{item.pk}/reserve/", {"pass": pass_for(rival, item), "units": "1"})
    assert counted(counts, item) == {"reserved": 2, "already_reserved": 1, "limit_reached": 1}
    seconds = answer_counts.of_seconds([item.pk], [SECOND, SECOND + 1])
    assert (seconds[SECOND]["reserved"], seconds[SECOND + 1].total()) == (2, 0)


@pytest.mark.django_db
def test_minutes_are_kept_for_a_report(item: SaleItem) -> None:
    """Over midnight, and within the minutes that are asked for."""
    last = int(time.time()) // answer_counts.DAY_SECONDS * answer_counts.DAY_SECONDS // 60 - 1
    for minute, count in ((last - 1, 1), (last, 2), (last, 3), (last + 1, 4), (last + 2, 5)):
        answer_counts.add_to_sums({(item.pk, Outcome.SOLD_OUT): count}, second=minute * 60 + 59)
    found = answer_counts.of_minutes([item.pk], first=last, last=last + 1)
    assert found == {last: {"sold_out": 5}, last + 1: {"sold_out": 4}}


@pytest.mark.django_db
def test_the_gate_counts_and_metrics_tell_it(
    item: SaleItem, buyer: User, pass_for: PassFor, shadow: Shadow, counts: CountsByHand, client: Client
) -> None:
    change(item, SaleChange.Kind.PAUSE)
    reserve_by_api(item.pk, pass_for(buyer, item))
    assert shadow.answered == [True]
    # Once by the view, and once by the gate, which answers the same call.
    assert counted(counts, item) == {"paused": 2}
    # On a busy machine the cache server's part may come too late for a scrape.
    scraped: list[str] = []

    def is_counted() -> bool:
        scraped.append(client.get("/metrics").content.decode())
        return 'stampede_answers_total{answer="paused"} 2.0' in scraped[-1]

    wait_until(is_counted, seconds_max=30)
    lines = scraped[-1]
    for word, count in (("paused", 2), ("sold_out", 0), ("error", 0)):
        assert f'stampede_answers_total{{answer="{word}"}} {count}.0' in lines


@pytest.mark.django_db
def test_the_hot_lane_counts_what_it_answers_and_no_view_counts_it_again(
    product: Product, pass_for: PassFor, counts: CountsByHand, lane: Lane
) -> None:
    item = make_item(product, quantity=2)
    for buyer in new_buyers(6):
        lane.reserve(item, pass_for(buyer, item))
    # The first yes and the first no come from the view, from whose headers the lane learns.
    assert lane.view.calls == 2
    assert counted(counts, item) == {"reserved": 2, "held_by_others": 4}


@pytest.mark.django_db
def test_without_the_cache_server_buyers_are_answered_and_counting_goes_on_after(
    item: SaleItem, buyer: User, rival: User, pass_for: PassFor, counts: CountsByHand, settings: Settings
) -> None:
    former = store_away(settings, "default")
    assert reserve_by_api(item.pk, pass_for(buyer, item)).status_code == 201
    counts.write(second=SECOND)
    settings.CACHES = former
    assert reserve_by_api(item.pk, pass_for(rival, item)).status_code == 201
    # A failed write is not repeated: it may have taken effect.
    assert counted(counts, item) == {"reserved": 1}
