"""What staff read of a rehearsal: its verdict in words, its page, and the line of the pre-flight."""

from datetime import timedelta
from html import unescape
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError
from pytest_django import Settings

from orders.models import Rehearsal
from orders.preflight.rehearsal_verdict import findings_of, look_at_rehearsal, worst_of
from orders.rehearsal import running
from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.steps.shop import make_item, text_of
from tests.steps.staff import admin_page, report_of, was_rehearsed

pytestmark = pytest.mark.django_db


@pytest.fixture
def coming(product: Product, settings: Settings) -> SaleItem:
    settings.REHEARSALS = True
    return make_item(product, quantity=5, opens_in_seconds=7200, closes_in_seconds=9000)


def page_of(item: SaleItem) -> str:
    return reverse("admin:seckill_sale_rehearse", args=[item.sale_id])


SAID: list[tuple[dict[str, Any], str, str]] = [
    ({}, "good", "5 buyers heard yes, for 5 units: never one too many."),
    ({"yes": 6}, "stop", "More was promised than there was: 1 units too many."),
    ({"sums_hold": False}, "stop", "More was promised"),
    ({"lost": 1}, "stop", "does not know 1 reservations"),
    ({"failed": 3}, "stop", "3 of 20 simulated buyers heard neither"),
    ({"failed": 1, "buyers": 500}, "warning", "1 of 500 simulated buyers heard neither"),
    ({"not_sent": 9}, "warning", "too short for 9 more buyers"),
    ({"p99_ms": 1_500}, "warning", "99 of 100 less than 1500 ms"),
    ({"p99_ms": 6_000}, "stop", "99 of 100 less than 6000 ms"),
    ({"waiting": 2}, "stop", "2 reservations did not become orders"),
    ({"write_seconds": 30.0}, "warning", "the last 30.0 s after the last answer"),
    ({"still_held": 2}, "stop", "2 of 2 units that were not paid for did not come back"),
    ({"late": 3, "late_yes": 2}, "stop", "only 2 of 3 late buyers heard yes"),
    ({"busy_percent": 95}, "warning", "busy for 95% of the time"),
    ({"units": None}, "good", "an item without a limit"),
]


def test_each_broken_promise_is_said_in_words(coming: SaleItem) -> None:
    for more, worst, text in SAID:
        report = report_of(coming, **more)
        assert worst_of(report) == worst, more
        assert any(text in str(finding.text) for finding in findings_of(report)), more


def test_the_page_starts_one_shows_its_progress_and_then_its_report(
    as_manager: Client, coming: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f'href="{page_of(coming)}"' in text_of(as_manager, admin_page(coming.sale))
    monkeypatch.setattr(running.rehearse, "apply_async", Mock(side_effect=OperationalError("refused")))
    as_manager.post(page_of(coming), {"buyers": 300})
    assert "The broker does not answer: refused" in text_of(as_manager, page_of(coming))
    monkeypatch.setattr(running.rehearse, "apply_async", lambda **_more: None)
    as_manager.post(page_of(coming), {"buyers": 5})
    assert not Rehearsal.objects.exclude(status=Rehearsal.Status.BROKEN).exists()
    as_manager.post(page_of(coming), {"buyers": 300})
    rehearsal = Rehearsal.objects.get(status=Rehearsal.Status.RUNNING)
    assert (rehearsal.buyers, rehearsal.items) == (300, [[coming.pk, 5]])
    assert "Waiting for a worker" in text_of(as_manager, page_of(coming))
    rehearsal.go_on(stage=Rehearsal.Stage.RUSH, figures={"asked": 120, "yes": 5, "waiting": 1, "held": 5})
    progress = reverse("admin:seckill_sale_rehearsal_progress", args=[coming.sale_id])
    part = as_manager.get(progress)
    assert "120 / 300" in part.content.decode()
    assert "HX-Refresh" not in part
    rehearsal.end(Rehearsal.Status.DONE, report=report_of(coming))
    assert as_manager.get(progress)["HX-Refresh"] == "true"
    text = unescape(as_manager.get(page_of(coming)).content.decode())
    assert "The rehearsal went well." in text
    assert text.count('<canvas class="chart"') == 2
    assert "The figures of both charts" in text


def test_the_page_says_what_speaks_against_it(as_manager: Client, coming: SaleItem, product: Product) -> None:
    make_item(Product.objects.exclude(pk=product.pk).first() or product, quantity=5, opens_in_seconds=600)
    text = unescape(as_manager.get(page_of(coming)).content.decode())
    assert "Rehearse although buyers of Spring sale need these machines now" in text
    as_manager.post(page_of(coming), {"buyers": 300})
    assert not Rehearsal.objects.exists()
    broken = Rehearsal.objects.create(
        sale=coming.sale, buyers=20, status=Rehearsal.Status.BROKEN, problem={"en": "It was interrupted."}
    )
    assert "It was interrupted." in unescape(as_manager.get(page_of(coming)).content.decode())
    assert broken.report is None


def test_a_sale_is_rehearsed_only_where_rehearsals_are_on(
    as_manager: Client, coming: SaleItem, settings: Settings
) -> None:
    settings.REHEARSALS = False
    assert as_manager.get(page_of(coming)).status_code == 403
    assert as_manager.get("/admin/seckill/sale/none/rehearsal/").status_code == 403
    assert page_of(coming) not in text_of(as_manager, admin_page(coming.sale))
    was_rehearsed(coming)
    # The last report can still be read.
    text = unescape(as_manager.get(page_of(coming)).content.decode())
    assert "Rehearsals are switched off" in text
    assert "Start the rehearsal" not in text


def test_the_pre_flight_says_how_the_last_rehearsal_went(
    as_manager: Client, coming: SaleItem, settings: Settings
) -> None:
    def line() -> tuple[str, str]:
        ((verdict, text, _todo),) = look_at_rehearsal(coming.sale)
        return verdict.value, str(text)

    assert line() == ("warning", "This sale was never rehearsed.")
    settings.REHEARSALS = False
    assert list(look_at_rehearsal(coming.sale)) == []
    rehearsal = was_rehearsed(coming)
    assert line()[0] == "good"
    assert line()[1].endswith("ago with 20 simulated buyers. The rehearsal went well.")
    Rehearsal.objects.update(started_at=timezone.now() - timedelta(days=9))
    assert line()[0] == "warning"
    assert "1\xa0week, 2\xa0days ago" in line()[1]
    Rehearsal.objects.update(report=report_of(coming, lost=1))
    assert line()[0] == "stop"
    # One of another release has other figures.
    rehearsal.report = {"form": 0}
    rehearsal.save()
    assert list(look_at_rehearsal(coming.sale)) == []
    assert as_manager.get(page_of(coming)).status_code == 200


def test_a_waiting_room_is_rehearsed_without_its_line_and_the_page_says_so(
    as_manager: Client, coming: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "There is no waiting room in a rehearsal"
    assert said not in text_of(as_manager, page_of(coming))
    Sale.objects.update(admission=Sale.Admission.WAITING_ROOM)
    assert said in text_of(as_manager, page_of(coming))
    monkeypatch.setattr(running.rehearse, "apply_async", lambda **_more: None)
    as_manager.post(page_of(coming), {"buyers": 300})
    assert Rehearsal.objects.get().sale_id == coming.sale_id


def test_a_draw_is_not_rehearsed_and_the_page_says_what_to_do(as_manager: Client, coming: SaleItem) -> None:
    Sale.objects.update(admission=Sale.Admission.DRAW)
    text = unescape(as_manager.get(page_of(coming)).content.decode())
    assert "choose “first come, first served” in the copy, rehearse the copy, and delete it" in text
    assert "Start the rehearsal" not in text
    as_manager.post(page_of(coming), {"buyers": 300})
    assert not Rehearsal.objects.exists()
    with pytest.raises(CommandError, match="so this sale is not rehearsed"):
        call_command("sale_rehearsal", str(coming.sale_id))
