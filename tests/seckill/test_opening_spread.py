"""Over how long pages that wait for an opening spread their calls: by how many wait, and never for long."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from seckill.live import answer, opening
from seckill.live.opening import SPREAD_MS_MAX, WaitingPages
from seckill.models import SaleItem
from tests.steps.shop import make_item, make_product


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    class Clock:
        now_s = 100.0

        def monotonic(self) -> float:
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(opening, "time", clock)
    return clock


def test_many_wait_as_long_as_the_process_needs_for_them_and_a_few_not_at_all(clock: Any, settings: Any) -> None:
    settings.SECKILL_CALLS_PER_SECOND = 500
    for pages, spread_ms in ((9, 0), (50, 100), (500, 1000), (1000, 2000), (50_000, SPREAD_MS_MAX)):
        waiting = WaitingPages()
        waiting.count(7, calls=pages)
        assert waiting.opening_spread_ms(7) == spread_ms
        # The figure of a whole second counts while the next one has only begun, and each sale has its own.
        clock.now_s += 1
        assert waiting.opening_spread_ms(7) == spread_ms
        assert waiting.opening_spread_ms(8) == 0
        # Pages that have gone are not waited for.
        clock.now_s += 2
        assert waiting.opening_spread_ms(7) == 0


def test_the_sales_that_are_counted_are_bounded(clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SALES_MAX", 10)
    waiting = WaitingPages()
    for sale_id in range(100):
        waiting.count(sale_id)
    assert len(waiting._seconds) <= 10


@pytest.mark.django_db(transaction=True)
def test_the_page_hears_it_with_the_figures(api: APIClient, item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    tea = make_product(name="Teapot", slug="teapot", price_minor=9900)
    coming = make_item(tea, opens_in_seconds=60)
    quiet = api.get(f"/api/v1/sales/{coming.sale_id}/live/")
    monkeypatch.setattr(opening.waiting_pages, "opening_spread_ms", lambda sale_id: 1234)
    crowded = api.get(f"/api/v1/sales/{coming.sale_id}/live/")
    assert [answer.json()["opening_spread_ms"] for answer in (quiet, crowded)] == [0, 1234]
    # That more pages wait is no new figure: a page's last look before the opening asks for the whole answer.
    assert crowded["ETag"] == quiet["ETag"]
    # After the opening there is no wait; a page that is opened in its first seconds takes its turn too.
    assert api.get(f"/api/v1/sales/{item.sale_id}/live/").json()["opening_spread_ms"] == 0
    monkeypatch.setattr(answer, "SPREAD_MS_MAX", 3_600_000)
    assert api.get(f"/api/v1/sales/{item.sale_id}/live/").json()["opening_spread_ms"] == 1234
