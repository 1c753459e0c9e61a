"""What staff see of a draw: the choice on the form, the figures on the sale's page, and the journal."""

from typing import Any
from unittest import mock

import pytest
from django.test import Client
from pytest_django import Settings

from seckill.changes.texts import outcome_sentence, reason_text, request_text
from seckill.models import SaleChange, SaleItem
from seckill.staff import draw_figures
from seckill.staff.change_pages import control_url
from seckill.staff.draw_figures import draw_numbers
from tests.steps.drawing import drawn, entered
from tests.steps.shop import text_of
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db


def figures_of(page: str) -> list[str]:
    """The figures of the section, in their order."""
    section = page.split('id="draw-heading"')[1].split("</section>")[0]
    return [part.split("</dd>")[0].split(">")[-1] for part in section.split("<dd")[1:]]


@pytest.mark.slow
def test_the_page_of_the_sale_has_the_entries_and_the_units_asked_for(item: SaleItem, as_manager: Client) -> None:
    # All three units are drawn in any order of these entries.
    entered(item, 3)
    entered(item, 2, units=2)
    path = f"/admin/seckill/sale/{item.sale_id}/change/"
    assert figures_of(text_of(as_manager, path)) == ["takes entries", "5", "7"]
    drawn(item)
    stage, entries, units, winners, without_units, passed_on = figures_of(text_of(as_manager, path))
    assert (stage, entries, units, without_units, passed_on) == ("drawn", "5", "7", "0", "0")
    assert int(winners) in (2, 3)
    assert "draw 3 units" in text_of(as_manager, path)


def test_entries_are_counted_once_for_all_who_look(
    item: SaleItem, django_assert_num_queries: Any, settings: Settings
) -> None:
    """Each second at most, and after the close never again; while the cache server is away, at each look."""
    for is_drawn in (False, True):
        if is_drawn:
            drawn(item)
        else:
            entered(item, 4)
        with mock.patch.object(draw_figures, "COUNTING_SHARE", 1e-9):
            first = draw_numbers(item.sale_id)
        with django_assert_num_queries(2):
            assert draw_numbers(item.sale_id) == first
    assert first["draw_entries"] == 4
    store_away(settings, "default")
    with django_assert_num_queries(3):
        assert draw_numbers(item.sale_id) == first


def test_the_draw_is_a_choice_of_the_form(as_manager: Client) -> None:
    assert '<option value="draw">draw</option>' in text_of(as_manager, "/admin/seckill/sale/add/")


def test_the_journal_says_how_many_units_were_drawn_among_how_many_entries(item: SaleItem) -> None:
    entered(item, 5)
    drawn(item)
    change = SaleChange.objects.get(kind="draw")
    assert request_text(change) == "draw 3 units"
    assert reason_text(change) == "The entries have closed."
    assert outcome_sentence(change) == "5 entries took part."


def test_staff_cannot_draw_by_hand(item: SaleItem, as_manager: Client) -> None:
    path = control_url(sale_id=item.sale_id, kind=SaleChange.Kind.DRAW, item_id=item.pk)
    assert as_manager.get(path).status_code == 404
