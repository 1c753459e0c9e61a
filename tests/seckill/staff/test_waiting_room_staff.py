"""Staff choose a waiting room on the form, see its line on the page of the sale, and change its pace."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from orders.tasks import move_waiting_rooms
from seckill.models import Sale, SaleChange, SaleItem, WaitingRoom
from seckill.publication import publish_sale
from seckill.staff.duplicate import duplicate
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.staff import admin_page, control_form, control_page, messages_on
from tests.steps.store import store_away
from tests.steps.waiting_room import joined, open_now

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

Kind = SaleChange.Kind


def figures_on(client: Client, item: SaleItem) -> dict[str, str]:
    answer = client.get("/admin/seckill/saleitem/figures/", {"item": item.pk}).json()[str(item.pk)]
    return {name.removeprefix("room_"): text for name, text in answer.items() if name.startswith("room_")}


def press_pace(client: Client, item: SaleItem, **fields: Any) -> list[str]:
    return messages_on(client.post(control_page(item, Kind.PACE), control_form(**fields)))


def test_a_draft_is_given_a_waiting_room_and_its_key_when_it_is_published(client: Client, product: Product) -> None:
    item = make_item(product, opens_in_seconds=300, published=False)
    page = client.get(admin_page(item.sale)).content.decode()
    assert "first come, first served" in page
    assert not WaitingRoom.objects.exists()
    Sale.objects.update(admission="waiting_room")
    publish_sale(sale_id=item.sale_id)
    assert len(WaitingRoom.objects.get(sale=item.sale).key) == 64
    published = client.get(admin_page(item.sale)).content.decode()
    assert 'name="admission"' in page
    assert 'name="admission"' not in published


def test_the_page_shows_the_line(client: Client, waiting: SaleItem, buyer: User, rival: User) -> None:
    joined(waiting, buyer)
    joined(waiting, rival)
    found = figures_on(client, waiting)
    assert found == {
        "people": "2",
        "waiting": "2",
        "called": "0",
        "entered": "0",
        "inside": "0",
        "pace": "– (automatic)",
        "state": "moving",
    }
    open_now(waiting)
    Sale.objects.update(pace=60)
    move_waiting_rooms()
    found = figures_on(client, waiting)
    assert (found["waiting"], found["called"], found["inside"], found["pace"]) == ("0", "2", "2", "60")
    page = client.get(admin_page(waiting.sale)).content.decode()
    assert "Called and still choosing" in page
    assert 'data-figure="room_called">2<' in page


def test_other_sales_have_no_line_and_no_pace(client: Client, item: SaleItem) -> None:
    assert figures_on(client, item) == {}
    page = client.get(admin_page(item.sale)).content.decode()
    assert "Called and still choosing" not in page
    assert "Change the pace" not in page
    answer = client.post(control_page(item, Kind.PACE), control_form(units=5))
    assert answer.context["form"].non_field_errors() == ["This sale has no waiting room."]


def test_a_store_that_is_away_shows_no_numbers(client: Client, waiting: SaleItem, settings: Settings) -> None:
    store_away(settings)
    assert set(figures_on(client, waiting).values()) == {"–"}


def test_the_pace_is_changed_and_written_into_the_journal(client: Client, waiting: SaleItem) -> None:
    assert press_pace(client, waiting, units=120) == ["The waiting room has a new pace: let in 120 people a minute."]
    assert Sale.objects.get().pace == 120
    entry = SaleChange.objects.get()
    assert (entry.kind, entry.units, entry.status) == ("pace", 120, "applied")
    assert "let in 120 people a minute" in client.get(admin_page(waiting.sale)).content.decode()
    draft = duplicate(sale_id=waiting.sale_id)
    assert (draft.admission, draft.pace, WaitingRoom.objects.count()) == ("waiting_room", 120, 1)
    assert press_pace(client, waiting, units="") == [
        "The waiting room has a new pace: let in as many as orders and payments can take."
    ]
    assert Sale.objects.get(pk=waiting.sale_id).pace is None


def test_a_pace_is_one_person_a_minute_at_least_and_not_for_a_sale_that_has_ended(
    client: Client, waiting: SaleItem
) -> None:
    for units in ("0", "-1", "many"):
        answer = client.post(control_page(waiting, Kind.PACE), control_form(units=units))
        assert answer.context["form"].errors, units
    Sale.objects.update(opens_at=timezone.now() - timedelta(hours=2), closes_at=timezone.now() - timedelta(hours=1))
    answer = client.post(control_page(waiting, Kind.PACE), control_form(units=5))
    assert answer.context["form"].non_field_errors() == ["This sale is already over. Nothing was changed."]
    assert not SaleChange.objects.exists()
