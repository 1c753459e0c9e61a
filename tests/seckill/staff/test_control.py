"""Staff change a running sale: a form with a preview and a reason, and the result. Only a POST changes anything."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from seckill.changes.journal import sweep_changes
from seckill.changes.pauses import PAUSES
from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product
from tests.steps.shop import PLENTY, make_item
from tests.steps.staff import admin_page, change, control_form, control_page, employee, messages_on
from tests.steps.store import counters_of, store_away

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

Kind = SaleChange.Kind
# The end of a sale returns what is unsold by itself.
BY_STAFF = [kind for kind in Kind if kind not in (Kind.RETURN_UNSOLD, Kind.DRAW)]
JOURNAL = "/admin/seckill/salechange/"


def preview_on(response: Any) -> str:
    """The figures of the preview as text."""
    section = response.content.decode().partition("data-preview=")[2].partition("</section>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", section.partition(">")[2])).strip()


def test_units_are_added_with_a_reason_and_recorded_in_the_journal(
    client: Client, running: SaleItem, shop_manager: User
) -> None:
    response = client.post(control_page(running, Kind.ADD_UNITS), control_form(units=50), follow=True)
    assert messages_on(response) == ["50 units were added to “Longjing tea”. Sold 1, held 1, left 53."]
    assert counters_of(running).quantity == SaleItem.objects.get().quantity == 55
    entry = SaleChange.objects.get()
    assert (entry.made_by, entry.reason, entry.status) == (shop_manager, "a second delivery", "applied")
    assert LogEntry.objects.get().change_message == "Longjing tea: add 50 units"
    page = response.content.decode()
    assert "add 50 units" in page.partition("Journal of changes")[2]
    assert "a second delivery" in page


def test_the_preview_shows_the_figures_and_after_a_form_with_a_mistake_the_effect(
    client: Client, running: SaleItem
) -> None:
    page = control_page(running, Kind.ADD_UNITS)
    assert preview_on(client.get(page)) == "Longjing tea sold 1 held 1 left 3 quantity 5"
    without_reason = client.post(page, control_form(units=50, reason=" "))
    assert preview_on(without_reason) == "Longjing tea sold 1 held 1 left 3 → 53 quantity 5 → 55"
    assert without_reason.context["form"].errors == {"reason": ["This field is required."]}
    too_many = client.post(control_page(running, Kind.WITHDRAW_UNITS), control_form(units=4, reason=""))
    assert preview_on(too_many).endswith("quantity 5 Only 3 left: this change would be refused.")
    none_there = client.post(page, control_form(units=PLENTY, reason=""))
    assert preview_on(none_there).endswith(f"quantity 5 Only {PLENTY - 5} in stock: this change would be refused.")
    assert f"In stock: {PLENTY - 5}" in none_there.content.decode()
    limit = client.post(control_page(running, Kind.UNITS_PER_BUYER), control_form(units=2, reason=""))
    assert preview_on(limit).startswith("Units 1 → 2 Longjing tea")
    end = client.post(control_page(running, Kind.MOVE_END), control_form(closes_at="2031-01-02T03:04", reason=""))
    assert "→ 2031-01-02 03:04:00" in preview_on(end)
    assert not SaleChange.objects.exists()


def test_before_the_opening_added_units_wait_and_the_preview_says_which_end_would_be_refused(
    client: Client, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)

    def preview(closes_at: str) -> str:
        form = control_form(closes_at=closes_at, reason="")
        return preview_on(client.post(control_page(item, Kind.MOVE_END), form))

    units = client.get(control_page(item, Kind.ADD_UNITS)).content.decode()
    assert "The added units go on sale at the opening." in units
    assert "immediately" not in units
    assert preview("2020-01-02T03:04").endswith(
        "This time has passed: this change would be refused. To end the sale at once, use “End now”."
    )
    soon = timezone.localtime(timezone.now() + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%S")
    assert preview(soon).endswith("The sale opens later than this: this change would be refused.")
    assert "would be refused" not in preview("2031-01-02T03:04")


def test_looking_changes_nothing_and_any_change_but_a_pause_needs_a_reason(client: Client, item: SaleItem) -> None:
    form = control_form(units=2, closes_at="2031-01-02T03:04", reason=" ")
    for kind in (Kind.PAUSE, Kind.ADD_UNITS, Kind.END_NOW):
        assert client.get(f"{control_page(item, kind)}?units=3&reason=x").status_code == 200, kind
    for kind in BY_STAFF:
        if kind not in PAUSES:
            errors = client.post(control_page(item, kind), form).context["form"].errors
            assert errors == {"reason": ["This field is required."]}, kind
    assert not SaleChange.objects.exists()
    assert (counters_of(item).quantity, counters_of(item).state) == (5, "open")


def test_a_withdrawal_of_more_than_is_free_is_refused_with_the_figures(client: Client, running: SaleItem) -> None:
    response = client.post(control_page(running, Kind.WITHDRAW_UNITS), control_form(units=4))
    assert messages_on(response) == [
        "The change to “Longjing tea” (withdraw 4 units) was refused. "
        "Only 3 left (sold 1, held 1). Nothing was changed."
    ]
    assert counters_of(running).quantity == SaleItem.objects.get().quantity == 5


def test_a_sale_is_paused_resumed_moved_and_ended(client: Client, item: SaleItem) -> None:
    def press(kind: Kind, **fields: Any) -> list[str]:
        return messages_on(client.post(control_page(item, kind), control_form(**fields)))

    assert press(Kind.PAUSE) == ["The sale is paused."]
    assert "paused" in client.get(admin_page(item.sale)).content.decode()
    assert press(Kind.RESUME) == ["The sale has resumed."]
    assert press(Kind.MOVE_END, closes_at="2031-01-02T03:04:05") == ["The sale now closes at 2031-01-02 03:04:05 UTC."]
    assert Sale.objects.get().closes_at.isoformat() == "2031-01-02T03:04:05+00:00"
    assert press(Kind.UNITS_PER_BUYER, units=3) == [
        "The limit for “Longjing tea” is now 3 per buyer. Sold 0, held 0, left 5."
    ]
    assert SaleItem.objects.get().per_buyer_max == counters_of(item).per_buyer_max == 3
    assert press(Kind.END_NOW) == ["The sale has ended."]
    assert "opens it again" in client.get(control_page(item, Kind.MOVE_END)).content.decode()
    assert SaleChange.objects.filter(status="applied").count() == LogEntry.objects.count() == 5


def test_an_emergency_pause_needs_no_reason_and_a_second_one_is_refused_in_the_form(
    client: Client, item: SaleItem
) -> None:
    page, form = control_page(item, Kind.PAUSE), control_form(reason="")
    response = client.post(page, form, follow=True)
    assert messages_on(response) == ["The sale is paused."]
    assert counters_of(item).state == "paused"
    assert "no reason given" in response.content.decode().partition("Journal of changes")[2]
    assert "no reason given" in client.get(JOURNAL).content.decode()
    response = client.post(page, control_form())
    assert response.context["form"].non_field_errors() == ["This sale is already paused. Nothing was changed."]
    assert (SaleChange.objects.get().reason, LogEntry.objects.count()) == ("", 1)


def test_a_form_that_is_sent_twice_makes_one_change(client: Client, item: SaleItem) -> None:
    page, form = control_page(item, Kind.ADD_UNITS), control_form(units=50)
    for _ in range(2):
        response = client.post(page, form)
        assert messages_on(response) == ["50 units were added to “Longjing tea”. Sold 0, held 0, left 55."]
    assert (SaleChange.objects.count(), LogEntry.objects.count(), counters_of(item).quantity) == (1, 1, 55)
    shown = [client.get(page).content.decode().partition('name="token" value="')[2][:36] for _ in range(2)]
    assert len({*shown}) == 2, "each form has a token of its own"


def test_with_the_store_down_the_change_waits_and_the_manager_is_told(
    client: Client, item: SaleItem, settings: Settings
) -> None:
    before = store_away(settings)
    assert client.get(control_page(item, Kind.ADD_UNITS)).status_code == 200
    response = client.post(control_page(item, Kind.ADD_UNITS), control_form(units=50), follow=True)
    assert messages_on(response) == [
        "The change to “Longjing tea” (add 50 units) is recorded. "
        "It takes effect by itself: in a moment, or as soon as the reservation store is available again."
    ]
    assert "Pending" in response.content.decode()
    assert "Not applied yet: another process has the item, or " in client.get(JOURNAL).content.decode()
    settings.CACHES = before
    assert sweep_changes() == 1
    assert sweep_changes() == 0
    assert counters_of(item).quantity == 55


def test_a_viewer_changes_nothing_and_is_offered_nothing(client: Client, item: SaleItem) -> None:
    client.force_login(employee("view_sale"))
    for kind in (Kind.PAUSE, Kind.ADD_UNITS):
        assert client.get(control_page(item, kind)).status_code == 403
        assert client.post(control_page(item, kind), control_form(units=3)).status_code == 403
    assert "/control/" not in client.get(admin_page(item.sale)).content.decode()
    assert client.get(JOURNAL).status_code == 200
    assert not SaleChange.objects.exists()


def test_a_buyer_and_a_forged_form_change_nothing(as_buyer: Client, item: SaleItem) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="manager"))
    assert strict.post(control_page(item, Kind.END_NOW), control_form()).status_code == 403
    assert as_buyer.post(control_page(item, Kind.END_NOW), control_form()).status_code == 302
    assert not SaleChange.objects.exists()


def test_a_kind_or_item_that_does_not_fit_the_sale_is_not_found(
    client: Client, item: SaleItem, product: Product
) -> None:
    draft = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, published=False)
    wrong: list[list[Any]] = [["add_units"], ["pause", item.pk], ["give_away"]]
    wrong += [["add_units", draft.pk], ["add_units", 0]]
    missing = [reverse("admin:seckill_sale_control", args=[item.sale_id, *args]) for args in wrong]
    missing.append(control_page(draft, Kind.PAUSE))
    assert [client.post(page, control_form(units=1)).status_code for page in missing] == [404] * 6


def test_the_page_offers_what_can_be_done_now(client: Client, product: Product) -> None:
    item = make_item(product, opens_in_seconds=60)

    def offered() -> list[str]:
        page = client.get(admin_page(item.sale)).content.decode()
        return re.findall(rf"/sale/{item.sale_id}/control/(\w+)/", page)

    units = ["add_units", "withdraw_units", "units_per_buyer"]
    assert offered() == ["pause", "move_end", *units]
    Sale.objects.update(opens_at=timezone.now())
    assert offered() == ["pause", "move_end", "end_now", *units]
    SaleItem.objects.update(quantity=None)
    assert offered() == ["pause", "move_end", "end_now", "units_per_buyer"]
    SaleItem.objects.update(quantity=5)
    change(item, Kind.PAUSE)
    assert offered() == ["resume", "move_end", "end_now", *units]
    change(item, Kind.RESUME)
    change(item, Kind.END_NOW)
    assert offered() == ["move_end"]


def test_counters_are_read_only_whatever_is_posted(client: Client, running: SaleItem) -> None:
    forged = {"name": "Spring sale", "late_payment": "refund", "paused": "on", "closes_at_0": "2031-01-01"}
    forged |= {"items-TOTAL_FORMS": "1", "items-INITIAL_FORMS": "1", "items-0-id": str(running.pk)}
    forged |= {"items-0-quantity": "99", "items-0-taken": "0", "left": "99", "quantity": "99"}
    client.post(admin_page(running.sale), forged)
    stored = SaleItem.objects.select_related("sale").get()
    assert (stored.quantity, stored.sale.paused, stored.sale.closes_at) == (5, False, running.sale.closes_at)
    assert (counters_of(running).left, counters_of(running).held, counters_of(running).sold) == (3, 1, 1)


def test_the_journal_is_read_and_filtered_and_never_edited(client: Client, running: SaleItem) -> None:
    change(running, Kind.ADD_UNITS, units=50, reason="a second delivery")
    change(running, Kind.WITHDRAW_UNITS, units=54, reason="damaged")
    entry = SaleChange.objects.earliest("pk")
    page = client.get(JOURNAL).content.decode()
    assert "withdraw 54 units" in page
    assert "Only 53 left (sold 1, held 1). Nothing was changed." in page
    assert client.get(JOURNAL, {"status__exact": "refused"}).context["cl"].result_count == 1
    assert client.get(JOURNAL, {"q": "second delivery"}).context["cl"].result_count == 1
    today = timezone.localdate()
    for found, query in ((2, f"made_at_from_0={today}"), (0, f"made_at_to_0={today - timedelta(days=1)}")):
        assert client.get(f"{JOURNAL}?{query}").context["cl"].result_count == found, query
    assert client.get(f"{JOURNAL}add/").status_code == 403
    assert client.post(f"{JOURNAL}{entry.pk}/change/", {"reason": "another"}).status_code == 403
    assert client.post(f"{JOURNAL}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    client.post(JOURNAL, {"action": "delete_selected", "_selected_action": entry.pk, "post": "yes"})
    assert SaleChange.objects.count() == 2
    assert SaleChange.objects.earliest("pk").reason == "a second delivery"
