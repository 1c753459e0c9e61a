"""The sale page and the home page, as they come from the server."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from seckill import ledger, pages
from seckill.items import holdings
from seckill.models import Sale, SaleChange, SaleItem
from seckill.reservation import reserve as reserve_units
from seckill.reservation import unavailable
from seckill.store.client import StoreUnreachable
from shop.languages.page_language import path_in
from shop.models import Product
from tests.steps.buying import reserve
from tests.steps.drawing import make_draw, opening_passes
from tests.steps.shop import make_item, make_product, other_item, text_of, variant_of
from tests.steps.staff import change
from tests.steps.store import counters_of, left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)


def page_of(item: SaleItem) -> str:
    return item.sale.get_absolute_url()


def add_items(sale: Sale, *, count: int) -> None:
    for number in range(count):
        product = make_product(name=f"Tea {number}", slug=f"tea-{number}", price_minor=2900)
        SaleItem.objects.create(sale=sale, variant=variant_of(product), price_minor=1900, quantity=5)


def form_of(item: SaleItem) -> str:
    """The page from which a browser without JavaScript reserves."""
    return f"/sale-items/{item.pk}/reserve/"


def answer_to(client: Client, item: SaleItem, **form: str) -> str:
    """The page to which the form leads."""
    return client.post(form_of(item), form, follow=True).content.decode()


def hidden_pass(text: str) -> str:
    return text.split('name="pass" value="')[1].split('"')[0]


@pytest.fixture
def store_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: object) -> None:
        raise StoreUnreachable

    for name in ("read_many", "reserve"):
        monkeypatch.setattr(ledger, name, unreachable)
    for name in ("units_of_buyer", "find_promised_hold"):
        monkeypatch.setattr(holdings, name, unreachable)


def test_the_page_shows_price_stock_and_limit_in_the_readers_language(client: Client, item: SaleItem) -> None:
    english, chinese = (text_of(client, path_in(language, page_of(item))) for language in ("en", "zh-hans"))
    assert '<html lang="en">' in english
    for words in (
        "Spring sale",
        "Longjing tea",
        "CN¥19.00",
        "CN¥99.00",
        "−80%",
        "5 of 5 left",
        "At most 1 per buyer",
        "held for 15 minutes",
    ):
        assert words in english
    assert '<html lang="zh-hans">' in chinese
    for words in ("春季秒杀", "龙井茶", "2折", "剩余 5 件，共 5 件", "每人限购 1 件", "登录后抢购", "保留 15 分钟"):
        assert words in chinese


def test_held_units_are_told_apart_from_sold_ones(client: Client, item: SaleItem, rival: User) -> None:
    held = reserve(item, rival)
    assert "4 of 5 left · 1 awaiting payment" in text_of(client, page_of(item))
    ledger.confirm(item_id=item.pk, reservation_ids=[held])
    text = text_of(client, page_of(item))
    assert "4 of 5 left" in text
    assert "awaiting payment</p>" not in text
    assert 'class="bar-left" width="80.00%"' in text


def test_the_number_of_queries_does_not_grow_with_the_items(
    client: Client, item: SaleItem, buyer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    add_items(item.sale, count=7)
    # One is for the categories in the header; those of the home page are also for the newest products and their sales.
    with django_assert_num_queries(4):
        text_of(client, page_of(item))
    with django_assert_num_queries(9):
        text_of(client, "/")
    client.force_login(buyer)
    with django_assert_num_queries(4):
        text_of(client, page_of(item))
    with django_assert_num_queries(4):
        text_of(client, form_of(item))


@pytest.mark.usefixtures("store_down")
def test_with_the_store_down_the_pages_open_and_say_so(client: Client, item: SaleItem, buyer: User) -> None:
    client.force_login(buyer)
    for path in (page_of(item), form_of(item)):
        text = text_of(client, path)
        assert "We cannot show the stock right now. You have not lost your place" in text
        assert "data-store-unreachable hidden" not in text
        assert "Sold out</button>" not in text
    assert "We cannot show the stock right now" in text_of(client, "/")
    assert "Temporarily unavailable" in answer_to(client, item, **{"pass": hidden_pass(text)})


def test_a_sale_that_is_not_published_is_not_there(as_buyer: Client, product: Product) -> None:
    item = make_item(product, published=False)
    assert [as_buyer.get(path).status_code for path in (page_of(item), form_of(item))] == [404, 404]
    assert "No sales are planned" in text_of(as_buyer, "/")


def test_home_shows_what_is_open_and_what_comes_but_not_what_is_over(client: Client, product: Product) -> None:
    now = timezone.now()
    for number, (name, hours) in enumerate((("Over", -3), ("Open", -1), ("Coming", 1))):
        tea = make_product(name=f"{name} tea", slug=f"tea-{number}", price_minor=9900)
        opens_at = now + timedelta(hours=hours)
        sale = Sale.objects.create(
            name=f"{name} sale", opens_at=opens_at, closes_at=opens_at + timedelta(hours=2), published_at=now
        )
        SaleItem.objects.create(sale=sale, variant=variant_of(tea), price_minor=1900)
    text = text_of(client, "/")
    assert text.index("Open now") < text.index("Open sale") < text.index("Coming sale")
    assert "Over sale" not in text
    # When a sale opens or ends, the page takes this part from the same document, which is in caches.
    assert 'hx-select="#sales > *"' in text


def test_home_shows_a_draw_as_open_for_entries_until_the_start_and_as_drawn_afterwards(
    client: Client, product: Product
) -> None:
    # Given a sale that buyers can order in, and a draw that takes entries
    make_item(make_product(name="Cup", slug="cup", price_minor=9900))
    draw = make_draw(product)
    text = text_of(client, "/")
    assert text.index("Open now") < text.index("Draws to enter now") < text.index("Entries close in")
    assert "Already drawn" not in text
    # When its start has passed
    Sale.objects.filter(pk=draw.sale_id).update(opens_at=timezone.now() - timedelta(seconds=1))
    text = text_of(client, "/")
    # Then nobody can order in it, and it does not look so
    assert "Draws to enter now" not in text
    assert text.index("Open now") < text.index("Already drawn") < text.index(page_of(draw))
    assert "product-stock" not in text.split("Already drawn")[1].split("</section>")[0]


def test_the_page_of_a_draw_counts_to_the_end_of_its_entries_and_is_not_called_open_afterwards(
    client: Client, product: Product
) -> None:
    draw = make_draw(product)
    assert "Entries close in</span>" in text_of(client, page_of(draw))
    opening_passes(draw)
    assert "Entries closed, ends in</span>" in text_of(client, page_of(draw))


def test_home_shows_a_paused_sale_as_paused(client: Client, item: SaleItem) -> None:
    change(item, SaleChange.Kind.PAUSE)
    text = text_of(client, "/")
    assert "Open now" not in text
    assert text.index(">Paused</h2>") < text.index(page_of(item))


def test_signing_in_leads_back_to_the_item_and_to_the_form_with_the_units(
    client: Client, item: SaleItem, buyer: User
) -> None:
    link = text_of(client, page_of(item)).split('before-end unless-sold-out"')[1].split('href="')[1].split('"')[0]
    form = f"{path_in('zh-hans', form_of(item))}?units=3"
    from_the_form = client.get(form)["Location"]
    assert from_the_form.startswith("/zh-hans/accounts/login/?next=")
    for sign_in, then in ((link, f"/sales/{item.sale_id}/#item-{item.pk}"), (from_the_form, form)):
        answer = client.post(sign_in, {"login": "buyer", "password": "buyer-password"})
        assert answer["Location"] == then
        client.logout()


def test_the_form_of_a_browser_without_javascript_reserves_once(as_buyer: Client, item: SaleItem) -> None:
    form = {"pass": hidden_pass(text_of(as_buyer, form_of(item))), "units": "1"}
    first, second = (as_buyer.post(form_of(item), form) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert first["Location"].startswith("/reservations/")
    assert left_held_sold(item)[:2] == (4, 1)


def test_a_lost_answer_leaves_the_form_its_pass_so_the_next_press_reserves_nothing_more(
    as_buyer: Client, product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = make_item(product, per_buyer_max=5)
    text = text_of(as_buyer, form_of(item))
    form = {"pass": hidden_pass(text), "units": "2"}
    with monkeypatch.context() as patched:
        # The script runs, and its answer does not come.
        patched.setattr(pages, "reserve_units", lambda **asked: (reserve_units(**asked), unavailable())[1])
        unanswered = as_buyer.post(form_of(item), form)
    text = unanswered.content.decode()
    assert "Temporarily unavailable" in text
    assert hidden_pass(text) == form["pass"]
    assert unanswered.context["units_chosen"] == 2
    again = as_buyer.post(form_of(item), {"pass": hidden_pass(text), "units": "2"})
    assert again["Location"].startswith("/reservations/")
    assert left_held_sold(item) == (3, 2, 0)


def test_the_page_says_how_many_a_buyer_can_still_take(
    client: Client, product: Product, buyer: User, rival: User
) -> None:
    # Given a buyer with one unit of three, and a rival with all of theirs
    item = make_item(product, quantity=9, per_buyer_max=3)
    for user, units in ((buyer, 1), (rival, 3)):
        reserve(item, user, units)
    assert "At most 3 per buyer" in text_of(client, page_of(item))
    # Then the page says so, and offers no more than is possible
    client.force_login(buyer)
    assert "At most 3 per buyer" in text_of(client, page_of(item))
    text = text_of(client, f"{form_of(item)}?units=2")
    assert "You have 1 of at most 3; you can still take 2." in text
    assert "<option selected>2</option>" in text
    assert "<option>3</option>" not in text
    assert "每人限购 3 件，您已有 1 件，还可购买 2 件。" in text_of(client, path_in("zh-hans", form_of(item)))
    client.force_login(rival)
    text = text_of(client, form_of(item))
    assert "You have reached the limit of 3 per buyer." in text
    assert re.search(r"data-buy disabled>\s*Limit reached</button>", text)


def test_long_before_the_opening_and_after_the_end_the_form_says_so(as_buyer: Client, product: Product) -> None:
    # Given a sale for which passes are not issued yet, and a browser without JavaScript
    item = make_item(product, opens_in_seconds=3600, closes_in_seconds=7200)
    page = text_of(as_buyer, page_of(item))
    assert "Not open yet</button>" in page
    assert 'name="pass"' not in page
    text = text_of(as_buyer, form_of(item))
    assert "Not open yet</button>" in text
    assert "Reserve now</button>" not in text
    assert hidden_pass(text) == ""
    answer = answer_to(as_buyer, item, **{"pass": ""})
    assert "Not open yet. The sale has not opened yet." in answer
    assert "expired" not in answer
    # The same with a pass, shortly before.
    Sale.objects.update(opens_at=timezone.now() + timedelta(minutes=5))
    answer = answer_to(as_buyer, item, **{"pass": hidden_pass(text_of(as_buyer, form_of(item)))})
    assert "Not open yet. The sale has not opened yet." in answer
    Sale.objects.update(opens_at=timezone.now() - timedelta(hours=1), closes_at=timezone.now())
    assert "The sale is over. This sale has ended." in answer_to(as_buyer, item, **{"pass": ""})


def test_the_form_asks_again_if_the_units_are_invalid(as_buyer: Client, item: SaleItem) -> None:
    pass_text = hidden_pass(text_of(as_buyer, form_of(item)))
    for units in ("0", "1.5", "", "9" * 30, "²"):
        assert "Choose how many units you want." in answer_to(as_buyer, item, **{"pass": pass_text, "units": units})


def test_after_a_refusal_the_form_has_a_new_pass_and_the_units_that_were_chosen(
    as_buyer: Client, buyer: User, rival: User, product: Product
) -> None:
    item = make_item(product, quantity=3, per_buyer_max=3)
    text = hidden_pass(text_of(as_buyer, form_of(item)))
    reserve(item, rival, units=1)
    assert "<option selected>2</option>" in answer_to(as_buyer, item, **{"pass": "", "units": "2"})
    too_few = answer_to(as_buyer, item, **{"pass": text, "units": "3"})
    assert "<option selected>3</option>" in too_few
    assert hidden_pass(too_few) != text
    reserve(item, buyer)
    too_many = answer_to(as_buyer, item, **{"pass": text, "units": "3"})
    assert "Purchase limit reached. You have 1 of at most 3; you can still take 2." in too_many


def test_the_pass_of_another_buyer_cannot_be_used(
    as_buyer: Client, item: SaleItem, buyer: User, rival: User, pass_for: Callable[..., str]
) -> None:
    for text in (pass_for(rival, item), pass_for(buyer, item, expires_in_seconds=-1), "p1.nonsense", ""):
        assert "The page had expired" in answer_to(as_buyer, item, **{"pass": text})
    assert counters_of(item).held == 0


def test_the_pages_hold_no_inline_script_or_style(as_buyer: Client, item: SaleItem) -> None:
    for path in ("/", page_of(item), form_of(item), "/orders/", "/accounts/signup/", "/nowhere/"):
        text = as_buyer.get(path).content.decode()
        assert "style=" not in text
        assert "<style" not in text
        for tag in text.split("<script")[1:]:
            assert "src=" in tag.split(">")[0] or 'type="application/json"' in tag.split(">")[0]


def test_no_page_promises_first_come_first_served_where_a_sale_is_not(
    client: Client, item: SaleItem, buyer: User
) -> None:
    client.force_login(buyer)
    assert "first come, first served" in text_of(client, page_of(item))
    for terms, more in (({"has_room": True}, "queue/"), ({"admission": Sale.Admission.DRAW}, "draw/")):
        other = other_item(more.strip("/"), opens_in_seconds=300, **terms)
        for path in (page_of(other), page_of(other) + more):
            assert "first come, first served" not in text_of(client, path)


def test_a_page_offers_a_reminder_until_the_opening_also_while_the_sale_is_paused(
    product: Product, client: Client
) -> None:
    item = make_item(product, opens_in_seconds=600)

    def shown() -> tuple[str, bool, bool]:
        page = client.get(page_of(item)).content.decode()
        phase = page.partition('data-phase="')[2].partition('"')[0]
        return phase, "Remind me" in page, "Press the button before the start" in page

    assert shown() == ("upcoming", True, True)
    change(item, SaleChange.Kind.PAUSE)
    assert shown() == ("paused", True, True)
    opening_passes(item)
    assert shown() == ("paused", False, False)
    change(item, SaleChange.Kind.RESUME)
    assert shown() == ("open", False, False)
