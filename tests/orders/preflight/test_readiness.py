"""Publishing shows the stops and asks; in the hour before the opening the pre-flight is repeated by itself."""

from datetime import timedelta
from html import unescape

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from structlog.testing import capture_logs

from orders import tasks
from orders.preflight import canaries, readiness
from orders.preflight.canaries import answer_canary
from orders.preflight.finding import Finding, Verdict, good, stop
from orders.preflight.kept import keep_result, last_result
from orders.preflight.preflight import LOOKS, Look
from orders.preflight.sale_looks import look_at_terms
from seckill.models import Sale, SaleItem
from seckill.publication import draft_terms
from shop.models import Product
from tests.steps.shop import goods, make_item, text_of
from tests.steps.staff import admin_page, publish_page, was_checked

pytestmark = pytest.mark.django_db

STOP = stop("The sale is paused.", "Resume it on its page in the admin.")


@pytest.fixture
def draft(product: Product) -> SaleItem:
    return make_item(product, opens_in_seconds=3600, closes_in_seconds=7200, price_minor=9900, published=False)


@pytest.fixture
def coming(product: Product, monkeypatch: pytest.MonkeyPatch) -> SaleItem:
    """A sale that opens within the hour, while workers take each message at once."""
    monkeypatch.setattr(answer_canary, "apply_async", lambda args, **_more: answer_canary(*args))
    return make_item(product, opens_in_seconds=1800, closes_in_seconds=4 * 3600)


def is_published(item: SaleItem) -> bool:
    item.sale.refresh_from_db()
    return item.sale.is_published


def test_each_stop_is_shown_and_ticked_before_publishing_and_again_after_another_look(
    as_manager: Client, draft: SaleItem
) -> None:
    was_checked(draft.sale, STOP)
    (earlier,) = as_manager.get(publish_page(draft.sale)).context["risks"]
    was_checked(draft.sale, good("All is well."), STOP)
    page = as_manager.get(publish_page(draft.sale))
    text = unescape(page.content.decode())
    assert "Not ready: 1 stop to mend." in text
    (risk,) = page.context["risks"]
    assert "The sale is paused. Resume it" in risk.text
    for sent in ({}, {"confirmed": earlier.key}):
        as_manager.post(publish_page(draft.sale), sent)
        assert not is_published(draft)
    as_manager.post(publish_page(draft.sale), {"confirmed": risk.key})
    assert is_published(draft)


def test_what_is_for_later_or_what_publishing_refuses_asks_nothing_before_publishing(
    as_manager: Client, draft: SaleItem
) -> None:
    later = Finding(Verdict.LATER, "No mail reaches a buyer.", "Set EMAIL_URL.")
    was_checked(draft.sale, good("All is well."), later, later)
    page = as_manager.get(publish_page(draft.sale))
    assert "Ready to try here; 2 things to do before real customers come." in page.text
    assert page.context["risks"] == []
    # A stop that publishing refuses cannot be ticked away.
    terms = next(number for number, look in enumerate(LOOKS) if look.find is look_at_terms)
    keep_result(draft.sale_id, {terms: [STOP]}, terms=draft_terms(draft.sale))
    page = as_manager.get(publish_page(draft.sale))
    assert "Not ready: 1 stop to mend." in page.text
    assert page.context["risks"] == []


def test_a_result_does_not_outlive_the_draft_that_it_judged_nor_a_quarter_of_an_hour(
    as_manager: Client, draft: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def risks() -> list[str]:
        return [risk.key for risk in as_manager.get(publish_page(draft.sale)).context["risks"]]

    was_checked(draft.sale, good("All is well."))
    assert risks() == []
    with monkeypatch.context() as later:
        later.setattr("orders.preflight.page.FRESH", timedelta(0))
        assert risks() == ["unchecked"]
    for changes in ({"waiting_list": True}, {"admission": Sale.Admission.WAITING_ROOM}, {"pace": 60}):
        Sale.objects.update(**changes)
        assert risks() == ["unchecked"], changes
        draft.sale.refresh_from_db()
        was_checked(draft.sale, good("All is well."))
    SaleItem.objects.update(quantity=50_000)
    assert risks() == ["unchecked"]
    assert "This sale has not been checked yet." in text_of(as_manager, admin_page(draft.sale))


def test_a_sale_that_was_not_looked_at_lately_is_looked_at_on_the_page(as_manager: Client, draft: SaleItem) -> None:
    page = as_manager.get(publish_page(draft.sale))
    assert [risk.key for risk in page.context["risks"]] == ["unchecked"]
    verdict_url = page.context["lines"][-1].url
    answer = as_manager.get(
        verdict_url, headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{publish_page(draft.sale)}"}
    )
    assert answer["HX-Redirect"] == publish_page(draft.sale)
    as_manager.post(publish_page(draft.sale))
    assert not is_published(draft)


def test_the_page_of_the_sale_says_how_the_last_look_ended(as_manager: Client, item: SaleItem) -> None:
    assert "This sale has not been checked yet." in text_of(as_manager, admin_page(item.sale))
    was_checked(item.sale, good("All is well."))
    assert "Ready." in text_of(as_manager, admin_page(item.sale))
    was_checked(item.sale, STOP)
    assert "Not ready: 1 stop to mend." in text_of(as_manager, admin_page(item.sale))


@pytest.mark.slow
def test_a_sale_that_opens_within_the_hour_is_judged_by_itself(coming: SaleItem) -> None:
    assert tasks.judge_coming_sales() == 0
    assert last_result(coming.sale_id) is None
    assert tasks.judge_coming_sales() == 1
    result = last_result(coming.sale_id)
    assert result is not None
    assert any("A message went through each queue" in str(finding.text) for finding in result.findings)
    # And not again for some minutes.
    assert [tasks.judge_coming_sales() for _ in range(2)] == [0, 0]


def test_workers_have_time_to_answer_and_a_sale_that_cannot_be_judged_stops_no_other(
    coming: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_once(_look: Look, sale: Sale, **_more: object) -> list[Finding]:
        if sale.pk == coming.sale_id:
            raise ValueError("broken")
        return []

    monkeypatch.setattr(readiness, "findings_of", broken_once)
    monkeypatch.setattr(answer_canary, "apply_async", lambda args, **_more: None)
    later = make_item(goods("sencha", price_minor=9900).product, opens_in_seconds=2700)
    assert [tasks.judge_coming_sales() for _ in range(3)] == [0, 0, 0]
    monkeypatch.setattr(canaries, "SECONDS_MAX", 0.0)
    assert tasks.judge_coming_sales() == 1
    assert (last_result(coming.sale_id), last_result(later.sale_id) is None) == (None, False)


@pytest.mark.parametrize("opens_in", [timedelta(hours=2), timedelta(minutes=-1)])
def test_other_sales_are_left_alone(coming: SaleItem, opens_in: timedelta) -> None:
    Sale.objects.update(opens_at=timezone.now() + opens_in)
    assert [tasks.judge_coming_sales() for _ in range(3)] == [0, 0, 0]
    assert last_result(coming.sale_id) is None


def test_a_new_stop_is_an_error_in_the_log_once(coming: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "AGAIN", timedelta(0))
    was_checked(coming.sale)
    with capture_logs() as logs:
        for stopped in (False, True, True):
            monkeypatch.setattr(
                readiness, "findings_of", lambda *_args, stopped=stopped, **_more: [STOP] if stopped else []
            )
            cache.delete(readiness.run_key(coming.sale_id))
            assert [tasks.judge_coming_sales() for _ in range(2)] == [0, 1]
    errors = [entry for entry in logs if entry["event"] == "sale_not_ready"]
    assert [(entry["log_level"], entry["sale_id"]) for entry in errors] == [("error", coming.sale_id)]
    assert errors[0]["stops"][0] == "The sale is paused."
