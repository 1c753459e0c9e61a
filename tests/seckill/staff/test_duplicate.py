"""“Duplicate this sale” makes a draft with the same items, one week later."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone, translation

from seckill.models import Sale, SaleItem
from seckill.publication import publish_sale
from seckill.staff.duplicate import duplicate, later, weeks_until_future
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.staff import employee

pytestmark = pytest.mark.django_db
WEEK = timedelta(weeks=1)


def page_of(sale: Sale, name: str) -> str:
    return f"/admin/seckill/sale/{sale.pk}/{name}/"


def test_the_draft_has_the_same_items_and_terms_one_week_later(item: SaleItem) -> None:
    SaleItem.objects.update(taken=2)
    draft = duplicate(sale_id=item.sale_id)
    (copy,) = draft.items.all()
    assert (copy.product, copy.price_minor, copy.quantity, copy.per_buyer_max) == (item.product, 1900, 5, 1)
    assert (copy.taken, copy.announced_at, copy.archived_at) == (0, None, None)
    assert (draft.name, draft.hold_seconds) == ("Spring sale", 900)
    with translation.override("zh-hans"):
        assert draft.name == "春季秒杀"
    assert (draft.opens_at, draft.closes_at) == (item.sale.opens_at + WEEK, item.sale.closes_at + WEEK)
    assert not draft.is_published
    # A form that is sent twice makes one draft.
    assert duplicate(sale_id=item.sale_id) == draft
    assert Sale.objects.count() == 2


def test_a_paused_sale_of_last_month_becomes_a_draft_that_can_be_published(product: Product) -> None:
    old = make_item(product, opens_in_seconds=-30 * 24 * 3600, closes_in_seconds=-30 * 24 * 3600 + 60, published=False)
    Sale.objects.update(paused=True)
    draft = duplicate(sale_id=old.sale_id)
    assert timezone.now() < draft.opens_at < timezone.now() + WEEK
    assert draft.closes_at - draft.opens_at == old.sale.closes_at - old.sale.opens_at
    assert not draft.paused
    assert publish_sale(sale_id=draft.pk)


def test_the_hour_of_the_day_stays_when_summer_time_ends() -> None:
    with timezone.override("Europe/Berlin"):
        before = datetime(2026, 10, 22, 18, 0, tzinfo=UTC)
        assert timezone.localtime(later(before, 1)).hour == timezone.localtime(before).hour


def test_a_draft_opens_at_its_first_hour_to_come_also_after_a_change_of_clocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for opens_at, now, weeks in (
        ("2026-03-24T18:00:00+01:00", "2026-03-31T17:59:00+02:00", 1),
        ("2026-03-24T18:00:00+01:00", "2026-03-31T18:30:00+02:00", 2),
        ("2026-10-20T18:00:00+02:00", "2026-10-27T17:30:00+01:00", 1),
        ("2026-10-20T18:00:00+02:00", "2026-10-27T18:00:00+01:00", 2),
    ):
        with timezone.override("Europe/Berlin"), monkeypatch.context() as clock:
            clock.setattr(timezone, "now", lambda now=now: datetime.fromisoformat(now))
            assert weeks_until_future(datetime.fromisoformat(opens_at)) == weeks, now


# Without the test's own transaction: the page needs one of its own.
@pytest.mark.django_db(transaction=True)
def test_the_page_of_the_sale_asks_first_and_leads_to_the_draft(as_manager: Client, item: SaleItem) -> None:
    assert page_of(item.sale, "duplicate_sale") in as_manager.get(page_of(item.sale, "change")).content.decode()
    assert "Longjing tea" in as_manager.get(page_of(item.sale, "duplicate_sale")).content.decode()
    assert Sale.objects.count() == 1
    answer = as_manager.post(page_of(item.sale, "duplicate_sale"), follow=True)
    draft = Sale.objects.latest("pk")
    assert answer.redirect_chain == [(page_of(draft, "change"), 302)]
    assert "This is a draft with the same items, one week later." in answer.content.decode()


def test_staff_who_may_not_add_sales_cannot_duplicate_one(client: Client, item: SaleItem) -> None:
    client.force_login(employee("change_sale"))
    assert page_of(item.sale, "duplicate_sale") not in client.get(page_of(item.sale, "change")).content.decode()
    assert client.post(page_of(item.sale, "duplicate_sale")).status_code == 403
    assert Sale.objects.count() == 1
