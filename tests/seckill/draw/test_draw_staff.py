"""What staff see of a draw: the choice on the form, the figures on the sale's page, and the journal."""

from typing import Any
from unittest import mock

import pytest
from django.test import Client
from pytest_django import Settings

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
def test_the_page_of_the_sale_has_the_entries_and_the_units_asked_for_and_no_draw_by_hand(
    item: SaleItem, as_manager: Client
) -> None:
    assert '<option value="draw">draw</option>' in text_of(as_manager, "/admin/seckill/sale/add/")
    # All three units are drawn in any order of these entries.
    entered(item, 3)
    entered(item, 2, units=2)
    path = f"/admin/seckill/sale/{item.sale_id}/change/"
    assert figures_of(text_of(as_manager, path)) == ["takes entries", "5", "7"]
    by_hand = control_url(sale_id=item.sale_id, kind=SaleChange.Kind.DRAW, item_id=item.pk)
    assert as_manager.get(by_hand).status_code == 404
    drawn(item)
    page = text_of(as_manager, path)
    stage, entries, units, winners, without_units, passed_on = figures_of(page)
    assert (stage, entries, units, without_units, passed_on) == ("drawn", "5", "7", "0", "0")
    assert int(winners) in (2, 3)
    for words in ("draw 3 units", "The entries have closed.", "5 entries took part."):
        assert words in page


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
