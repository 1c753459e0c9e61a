"""A sale for accounts with a confirmed mail address, or of some age, and for few accounts of one network or device."""

from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_redis import get_redis_connection

from seckill.guards.accounts_of_place import let_in
from seckill.guards.pass_guards import Guard, GuardedCall, GuardRefused, check_pass
from seckill.models import SaleItem
from shop.accounts.known_places import COOKIE
from tests.steps.at_once import at_once
from tests.steps.buying import new_buyers
from tests.steps.guarding import ask_pass, confirmed, guarded_by, told_of_pass
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db


def test_an_account_without_a_confirmed_address_gets_no_pass(item: SaleItem, buyer: User, rival: User) -> None:
    assert told_of_pass(item, buyer) == "pass"
    guarded_by(item, needs_confirmed_mail=True)
    confirmed(rival)
    assert told_of_pass(item, rival) == "pass"
    assert told_of_pass(item, buyer) == "mail_not_confirmed"
    confirmed(buyer).emailaddress_set.update(verified=False)  # type: ignore[attr-defined]
    assert told_of_pass(item, buyer) == "mail_not_confirmed"


def test_an_account_that_was_made_for_the_sale_gets_no_pass(item: SaleItem, buyer: User, rival: User) -> None:
    guarded_by(item, account_age_hours=24)
    User.objects.filter(pk=rival.pk).update(date_joined=timezone.now() - timedelta(hours=25))
    assert told_of_pass(item, rival) == "pass"
    answer = ask_pass(item, buyer)
    assert answer.json()["code"] == "account_too_new"
    assert 23 * 3600 < int(answer["Retry-After"]) <= 24 * 3600
    assert "24 h" in answer.json()["detail"] or "1 day" in answer.json()["detail"]


def test_a_network_has_passes_for_so_many_accounts_and_for_these_again(item: SaleItem) -> None:
    guarded_by(item, accounts_per_network=3)
    crowd = new_buyers(6)
    answers = [told_of_pass(item, who, address="192.0.2.7") for who in crowd]
    assert answers == ["pass"] * 3 + ["too_many_accounts"] * 3
    assert told_of_pass(item, crowd[0], address="192.0.2.7") == "pass"
    assert told_of_pass(item, crowd[5], address="192.0.2.8") == "pass"
    guarded_by(item, accounts_per_network=1)
    for who, address, told in (
        (crowd[0], "2001:db8:0:1::1", "pass"),
        (crowd[1], "2001:db8:0:1:ffff::2", "too_many_accounts"),
        (crowd[2], "2001:db8:0:2::1", "pass"),
    ):
        assert told_of_pass(item, who, address=address) == told, "a /64 network is one"


def test_of_many_accounts_at_once_no_more_get_in(item: SaleItem) -> None:
    places = {"network 192.0.2.1": 5, "device one": 3}
    calls = [partial(let_in, sale_id=1, places=places, buyer_id=number // 2, keep_seconds=60) for number in range(60)]
    assert sum(at_once(calls)) == 6
    (key,) = get_redis_connection("default").keys("seckill.guards.*")
    assert counts_in(key) == [3, 3]
    assert not any(b"192.0.2.1" in text for text in (key, *get_redis_connection("default").hkeys(key)))
    assert 0 < get_redis_connection("default").ttl(key) <= 60


def counts_in(key: bytes) -> list[int]:
    """How many accounts are counted for each place, where each of them has a field too."""
    fields = get_redis_connection("default").hgetall(key)
    counts = {mark: int(count) for mark, count in fields.items() if b":" not in mark}
    assert counts == Counter(field.partition(b":")[0] for field in fields if b":" in field)
    return list(counts.values())


def test_in_a_sale_that_is_prolonged_the_accounts_of_all_networks_count_on(item: SaleItem) -> None:
    def asks(buyer_id: int, *, network: str, keep_seconds: int) -> bool:
        return let_in(sale_id=1, places={network: 1}, buyer_id=buyer_id, keep_seconds=keep_seconds)

    assert asks(1, network="network a", keep_seconds=60)
    assert asks(2, network="network b", keep_seconds=60)
    # Now it is prolonged, and only one network calls again, with an account that has been let in and one that is not.
    assert asks(1, network="network a", keep_seconds=7200)
    assert not asks(3, network="network a", keep_seconds=9000)
    cache_server = get_redis_connection("default")
    assert {cache_server.ttl(key) > 8000 for key in cache_server.keys("seckill.guards.*")} == {True}
    # A process that has not heard of it yet does not shorten what is kept.
    assert asks(4, network="network c", keep_seconds=60)
    assert {cache_server.ttl(key) > 8000 for key in cache_server.keys("seckill.guards.*")} == {True}


def test_after_a_new_secret_key_the_accounts_of_a_network_count_on(item: SaleItem, settings: LazySettings) -> None:
    guarded_by(item, accounts_per_network=2)
    first, second, third = new_buyers(3)
    assert told_of_pass(item, first) == "pass"
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, of more than fifty characters, as Django asks for"
    assert [told_of_pass(item, who) for who in (second, third, first)] == ["pass", "too_many_accounts", "pass"]


def test_a_browser_has_passes_for_so_many_accounts(item: SaleItem, buyer: User, rival: User, stranger: User) -> None:
    """The cookie of the device comes with signing in; who removes it shares the count of its network."""
    guarded_by(item, accounts_per_device=1)
    browser = Client(REMOTE_ADDR="192.0.2.1")
    browser.post(reverse("account_login"), {"login": "buyer", "password": "buyer-password"})
    assert COOKIE in browser.cookies
    path = f"/api/v1/sale-items/{item.pk}/passes/"
    assert browser.post(path, {}, content_type="application/json").status_code == 201
    cookie = browser.cookies[COOKIE].value
    browser.force_login(rival)
    browser.cookies[COOKIE] = cookie
    answer = browser.post(path, {}, content_type="application/json")
    assert answer.json()["code"] == "too_many_accounts"
    bare = Client(REMOTE_ADDR="192.0.2.1")
    told = []
    for who in (rival, stranger):
        bare.force_login(who)
        told.append(bare.post(path, {}, content_type="application/json").status_code)
    assert told == [201, 403]


def test_an_account_that_the_rule_of_devices_refuses_leaves_its_network_to_others(item: SaleItem) -> None:
    guarded_by(item, accounts_per_network=2, accounts_per_device=1)
    first, second, third = new_buyers(3)
    assert refusal(item, first, device="one") is None
    assert refusal(item, second, device="one") is Guard.TOO_MANY_ACCOUNTS
    assert refusal(item, third, device="another") is None
    assert refusal(item, second, device="a third") is Guard.TOO_MANY_ACCOUNTS
    # Nor does the rule of networks use up a device.
    assert refusal(item, second, device="a third", network="192.0.2.2") is None


def refusal(item: SaleItem, user: User, *, device: str, network: str = "192.0.2.1") -> Guard | None:
    try:
        check_pass(GuardedCall(sale=item.sale, buyer_id=user.pk, network=network, device=device))
    except GuardRefused as error:
        return error.guard
    return None


def test_while_the_cache_server_is_away_buyers_get_in(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    guarded_by(item, accounts_per_network=1)
    store_away(settings, "default")
    assert told_of_pass(item, buyer) == "pass"


def test_the_page_says_why_there_is_no_pass(item: SaleItem, as_buyer: Client) -> None:
    guarded_by(item, needs_confirmed_mail=True)
    page = as_buyer.get(f"/sale-items/{item.pk}/reserve/")
    assert page.status_code == 403
    assert "Confirm your e-mail address first" in page.content.decode()
