"""The language is in the address of a page, the choice is remembered, and nothing leads round in a circle."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils.http import url_has_allowed_host_and_scheme

from orders.mails.message import message_of
from orders.models import Mail, Order, Payment
from orders.shipping.order_address import store_address
from seckill.models import SaleItem
from shop.languages.buyer_language import language_of
from shop.languages.page_language import language_of_path, path_in
from shop.models import BuyerLanguage
from tests.steps.buying import ADDRESS, order_of
from tests.steps.shop import text_of

pytestmark = pytest.mark.django_db

COOKIE = settings.LANGUAGE_COOKIE_NAME


def test_the_same_page_in_the_other_language() -> None:
    for english, chinese in (
        ("/", "/zh-hans/"),
        ("/sales/7/", "/zh-hans/sales/7/"),
        ("/orders/?page=2#x", "/zh-hans/orders/?page=2#x"),
        ("/api/v1/sales/", "/api/v1/sales/"),
        ("/admin/", "/admin/"),
        ("/zh-hansel/", "/zh-hans/zh-hansel/"),
    ):
        assert [path_in("zh-hans", path) for path in (english, chinese)] == [chinese, chinese]
        assert [path_in("en", path) for path in (english, chinese)] == [english, english]


def test_only_the_beginning_of_an_address_is_its_language_and_no_host_remains() -> None:
    for path, english in (
        ("/x/zh-hans/y/", "/x/zh-hans/y/"),
        ("/zh-hans/zh-hans/x/", "/zh-hans/x/"),
        ("/zh-hans//evil.example/x", "/evil.example/x"),
        ("/zh-hans/\\evil.example/x", "/evil.example/x"),
        ("/orders/?next=/zh-hans/", "/orders/?next=/zh-hans/"),
    ):
        assert path_in("en", path) == english
    assert [language_of_path(path) for path in ("/zh-hans", "/zh-hans/x/")] == ["zh-hans"] * 2
    assert {language_of_path(path) for path in ("/", "/zh-hansel/", "/zh-cn/", "/en/")} == {"en"}


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/nowhere/"])
def test_the_address_decides_and_not_the_browser_or_the_choice(client: Client, path: str) -> None:
    client.cookies[COOKIE] = "en"
    english = client.get(path, headers={"accept-language": "zh-CN"})
    assert '<html lang="en">' in english.content.decode()
    client.cookies[COOKIE] = "zh-hans"
    if path != "/":
        assert '<html lang="en">' in client.get(path).content.decode()
    client.cookies[COOKIE] = "en"
    chinese = client.get(path_in("zh-hans", path), headers={"accept-language": "en"})
    assert '<html lang="zh-hans">' in chinese.content.decode()
    for answer in (english, chinese):
        assert "Accept-Language" not in answer.get("Vary", "")


def test_the_api_and_the_admin_have_one_address_for_all_languages(client: Client, shop_manager: User) -> None:
    for path in ("/en/", "/zh-cn/", "/zh-hans/api/v1/sales/", "/zh-hans/metrics", "/zh-hans/admin/"):
        assert client.get(path).status_code == 404, path
    answer = client.get("/api/v1/orders/", headers={"accept-language": "zh-CN"})
    assert "身份" in answer.json()["detail"]
    assert "Accept-Language" in answer["Vary"]
    client.force_login(shop_manager)
    client.cookies[COOKIE] = "zh-hans"
    assert 'lang="zh-hans"' in client.get("/admin/", headers={"accept-language": "en"}).content.decode()


def test_the_choice_is_remembered_for_the_home_page_and_can_be_changed(client: Client) -> None:
    answer = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})
    assert answer["Location"] == "/zh-hans/"
    assert int(client.cookies[COOKIE]["max-age"]) > 300 * 24 * 3600
    leading_on = client.get("/")
    assert (leading_on.status_code, leading_on["Location"]) == (302, "/zh-hans/")
    assert leading_on["Cache-Control"] == "private, no-store"
    # No circle: the Chinese home page leads nowhere, whatever was chosen.
    for chosen in ("en", "zh-hans", "xx", ""):
        client.cookies[COOKIE] = chosen
        assert "目前没有安排秒杀" in text_of(client, "/zh-hans/")
    answer = client.post("/i18n/setlang/", {"language": "en", "next": "/zh-hans/"})
    assert answer["Location"] == "/"
    assert client.get("/").status_code == 200


def test_switching_needs_no_token_and_keeps_page_and_query() -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/orders/?page=2"})
    assert answer["Location"] == "/zh-hans/orders/?page=2"
    # An unknown language changes nothing.
    client = Client()
    answer = client.post("/i18n/setlang/", {"language": "xx", "next": "/orders/"})
    assert answer["Location"] == "/orders/"
    assert COOKIE not in client.cookies
    assert client.get("/i18n/setlang/").status_code == 405


def test_switching_never_leads_elsewhere(client: Client) -> None:
    for elsewhere in ("https://evil.example/", "//evil.example/", "/\\evil.example/", "javascript:x", ""):
        answer = client.post("/i18n/setlang/", {"language": "zh-hans", "next": elsewhere})
        assert answer["Location"] == "/zh-hans/", elsewhere
    # Nor does an address behind the prefix of a language.
    for rest in ("/evil.example/x", "\\evil.example/x", "//evil.example/x", "zh-hans//evil.example/x"):
        for language in ("en", "zh-hans", "xx"):
            answer = client.post("/i18n/setlang/", {"language": language, "next": f"/zh-hans/{rest}"})
            assert url_has_allowed_host_and_scheme(answer["Location"], allowed_hosts=None), rest


def test_the_choice_is_kept_with_the_account_and_comes_to_another_browser(as_buyer: Client, buyer: User) -> None:
    as_buyer.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})
    assert language_of(user_id=buyer.pk) == "zh-hans"
    other = Client()
    other.post("/accounts/login/", {"login": "buyer", "password": "buyer-password"})
    assert other.cookies[COOKIE].value == "zh-hans"
    assert other.get("/")["Location"] == "/zh-hans/"


def test_the_language_chosen_in_this_browser_counts_more_than_the_accounts(client: Client, buyer: User) -> None:
    BuyerLanguage.objects.create(user=buyer, language="zh-hans")
    client.cookies[COOKIE] = "en"
    client.post("/accounts/login/", {"login": "buyer", "password": "buyer-password"})
    assert client.cookies[COOKIE].value == "en"


def test_a_public_page_names_itself_and_the_other_language(client: Client, item: SaleItem) -> None:
    page = f"/sales/{item.sale_id}/"
    for path in (page, f"/zh-hans{page}"):
        text = client.get(path).content.decode()
        assert f'<link rel="canonical" href="{settings.SHOP_URL}{path}">' in text
        for code, address in (("en", page), ("zh-Hans", f"/zh-hans{page}"), ("x-default", page)):
            assert f'<link rel="alternate" hreflang="{code}" href="{settings.SHOP_URL}{address}">' in text


def test_links_of_a_chinese_page_stay_chinese(as_buyer: Client, item: SaleItem) -> None:
    for path in ("/zh-hans/", f"/zh-hans/sales/{item.sale_id}/", "/zh-hans/orders/", "/zh-hans/accounts/email/"):
        text = as_buyer.get(path).content.decode()
        # Apart from the links for search engines, in the head.
        links = [part.split('"')[0] for part in text.split("<body")[1].split(' href="')[1:]]
        assert links
        assert not [link for link in links if link.startswith("/") and not link.startswith("/zh-hans/")]


def test_mails_and_ways_back_from_payment_have_the_language_of_the_buyer(
    as_buyer: Client, item: SaleItem, buyer: User
) -> None:
    buyer.email = "buyer@example.com"
    buyer.save()
    order = order_of(item, buyer)
    store_address(order_id=order.pk, values=ADDRESS)
    payment_page = as_buyer.post(f"/zh-hans/orders/{order.number}/pay/")["Location"]
    assert payment_page.startswith("/zh-hans/pay/simulated/")
    assert f"/zh-hans/orders/{order.number}/?payment=left" in as_buyer.get(payment_page).content.decode()
    BuyerLanguage.objects.update_or_create(user=buyer, defaults={"language": "zh-hans"})
    mail = Mail(order=Order.objects.get(pk=order.pk), kind=Mail.Kind.EXPIRED, created_at=order.reserved_at)
    Order.objects.filter(pk=order.pk).update(status="expired", ended_at=order.reserved_at)
    mail.order.refresh_from_db()
    message = message_of(mail)
    assert message is not None
    assert f"{settings.SHOP_URL}/zh-hans/orders/{order.number}/" in message.body


def test_an_open_payment_page_is_shown_in_the_language_of_the_order(
    as_buyer: Client, order: Order, payment: Payment
) -> None:
    store_address(order_id=order.pk, values=ADDRESS)
    answer = as_buyer.post(f"/zh-hans/orders/{order.number}/pay/")
    assert answer["Location"] == path_in("zh-hans", payment.url)
