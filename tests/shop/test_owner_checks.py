"""Who may see what, for every address of the shop: generated from its URLs, so that none is forgotten.

A thing of one person is 404 for a stranger, whatever the method; somebody who is not signed in gets 401 from the API
and the sign-in page from the web. The admin is for staff.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from orders.invoices.writing import write_invoice
from orders.models import Order, OrderStatus, Payment
from seckill.models import SaleItem
from shop.models import Address
from tests.steps.buying import order_of, plain_order
from tests.steps.paying import payment_of

pytestmark = pytest.mark.django_db

METHODS = ("get", "post", "put", "patch", "delete")
# The pages of staff are forms and links, and none of them looks for another method.
METHODS_OF_PAGES = METHODS[:2]
# What a refused method may answer: that the address does not know it is no news to anybody.
UNKNOWN_METHOD = 405

# For everybody: names nothing of one person.
PUBLIC = {
    *("healthz", "readyz", "metrics", "set_language"),
    *("home", "sale", "schema", "docs", "api-problems", "api-problem"),
    *("api-sales", "api-sale", "api-sale-live", "api-live", "api-draw", "api-draw-file", "draw"),
    # Sign-in, sign-up, and what needs a key that was sent by mail.
    *("account_login", "account_logout", "account_signup", "account_inactive", "account_confirm_login_code"),
    *("account_reset_password", "account_reset_password_done", "account_reset_password_from_key"),
    *("account_reset_password_from_key_done", "account_confirm_email", "account_email_verification_sent"),
    "mfa_authenticate",
    # About what is sold; what needs a key that was sent by mail (tests/orders/reminders).
    *("api-reminders", "reminder", "reminder-confirm", "reminder-stop", "sale-calendar"),
    *("products", "product", "category", "search", "media/<path:name>"),
    *("api-products", "api-product", "api-categories", "api-shipping-methods"),
}
# Proves who calls by something else than an account: name and password, a pass, a signature, a reference that cannot be
# guessed.
OTHER_PROOF = {
    *("api-token", "api-reserve", "api-waiting-list", "api-payment-webhook", "simulated-payment"),
    # The cart's token or the account, whichever the caller has; the signature of the link to a guest's order. Strangers
    # are refused in tests/orders/cart, tests/orders/checkout and tests/orders/guests.
    *("api-cart", "api-checkout", "cart", "cart-add", "cart-add-confirm", "cart-change", "checkout"),
    *("guest-order", "guest-order-address", "guest-order-cancel", "guest-order-pay", "order-find"),
    *("guest-order-invoice", "guest-order-invoice-pdf", "guest-order-note", "guest-note-pdf"),
    # The token of a page of staff; see tests/web/board.
    "board-figures",
    "home-parts",
}
# About whoever is signed in. The address names no thing of theirs.
SIGNED_IN: dict[str, dict[str, str]] = {
    "api-me": {},
    "api-orders": {},
    "api-receipts": {},
    "orders": {},
    # A place is also asked for with its token, which is signed.
    "api-queue": {"sale_id": "sale"},
    "queue": {"pk": "sale"},
    "api-entries": {"item_id": "item"},
    "draw-entry": {"pk": "sale"},
    "api-passes": {"item_id": "item"},
    "api-challenges": {"item_id": "item"},
    "reserve": {"item_id": "item"},
    **{
        name: {}
        for name in (
            *("account_email", "account_change_password", "account_set_password", "account_reauthenticate"),
            *("mfa_index", "mfa_reauthenticate", "mfa_activate_totp", "mfa_deactivate_totp"),
            *("mfa_view_recovery_codes", "mfa_generate_recovery_codes", "mfa_download_recovery_codes"),
            *("account", "account-data", "account-export", "account-delete", "usersessions_list"),
            *("addresses", "address-new", "tokens", "token-new", "token-revoke"),
        )
    },
}
# Names a thing of one person; which one is in the fixture `things`.
OWNED = {
    "api-reservation": {"reservation_id": "reservation"},
    "api-order": {"number": "order"},
    "api-order-pay": {"number": "order"},
    "api-order-cancel": {"number": "order"},
    "api-order-address": {"number": "order"},
    "order": {"number": "order"},
    "order-pay": {"number": "order"},
    "order-again": {"number": "order"},
    "order-address": {"number": "order"},
    "order-cancel": {"number": "order"},
    "reservation": {"reservation_id": "reservation"},
    "order-invoice": {"number": "paid order"},
    "order-invoice-pdf": {"number": "paid order"},
    "order-note": {"number": "paid order", "document_id": "document"},
    "order-note-pdf": {"number": "paid order", "document_id": "document"},
    "address": {"address_id": "address"},
    "address-delete": {"address_id": "address"},
    "session-end": {"session_id": "session"},
}
# Only a POST does something there; other methods lead to the list of one's own, whatever the address names.
POST_ONLY = {"session-end": "usersessions_list"}

WHAT_TO_DO = """
These addresses are in no list of tests/shop/test_owner_checks.py: {missing}
Add each to OWNED if it names a thing of one person (then add that thing to the fixture `things`), to SIGNED_IN if it is
about whoever is signed in, to OTHER_PROOF if something else than an account proves who calls, else to PUBLIC.
"""


def addresses(patterns: list[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Name and route of each address; one without a name is known by its route."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield pattern.name or route, route


ALL = list(addresses(get_resolver().url_patterns))
OF_SHOP = {name for name, route in ALL if not route.startswith("admin/")}
OF_ADMIN = sorted({route for _, route in ALL if route.startswith("admin/")} - {"admin/login/", "admin/logout/"})


@pytest.fixture
def things(item: SaleItem, buyer: User) -> dict[str, Any]:
    """Things of the buyer, by the names that the lists above use."""
    order, now = order_of(item, buyer), timezone.now()
    paid = plain_order(item.variant, buyer, 1, 1900, status=OrderStatus.PAID, ended_at=now, settled_at=now)
    write_invoice(order_id=paid.pk)
    address = Address.objects.create(user=buyer, name="A", line1="B", city="C", postcode="1", country="CN")
    session = UserSession.objects.create(user=buyer, ip="192.0.2.1", session_key="owner-check", user_agent="x")
    return {
        "order": order.number,
        "paid order": paid.number,
        "document": paid.documents.get().pk,
        "reservation": order.reservation_id,
        "item": item.pk,
        "sale": item.sale_id,
        "address": address.pk,
        "session": session.pk,
    }


def everything() -> list[Any]:
    """All that belongs to the buyer, to see that nothing has changed."""
    rows = (Order.objects, Payment.objects, Address.objects, UserSession.objects.filter(session_key="owner-check"))
    return [list(found.order_by("pk").values()) for found in rows]


def url_of(name: str, parameters: dict[str, str], things: dict[str, Any]) -> str:
    return reverse(name, kwargs={parameter: things[thing] for parameter, thing in parameters.items()})


def answers(client: Client, url: str, methods: tuple[str, ...] = METHODS) -> Iterator[tuple[str, Any]]:
    of_api = {"content_type": "application/json"} if url.startswith("/api/") else {}
    for method in methods:
        more = {} if method == "get" else of_api
        yield method, getattr(client, method)(url, headers={"Idempotency-Key": "owner-check"}, **more)


def test_every_address_is_in_one_of_the_lists() -> None:
    lists = [PUBLIC, OTHER_PROOF, set(SIGNED_IN), set(OWNED)]
    missing = OF_SHOP - set().union(*lists)
    assert not missing, WHAT_TO_DO.format(missing=sorted(missing))
    assert not set().union(*lists) - OF_SHOP, "these addresses do not exist any more"
    assert sum(map(len, lists)) == len(set().union(*lists)), "an address is in two lists"


def test_a_stranger_finds_nothing_and_changes_nothing(client: Client, stranger: User, things: dict[str, Any]) -> None:
    client.force_login(stranger)
    before = everything()
    for name, parameters in OWNED.items():
        for method, answer in answers(client, url_of(name, parameters, things)):
            if method != "post" and name in POST_ONLY and answer.status_code == 302:
                assert answer["Location"] == reverse(POST_ONLY[name])
                continue
            assert answer.status_code in (404, UNKNOWN_METHOD), f"{method} {name}: {answer.status_code}"
            assert str(things["order"]) not in answer.text.replace(answer.request["PATH_INFO"], ""), f"{method} {name}"
        assert everything() == before, name


ENDED_BY_THE_FIRST_CALL = {"session-end"}


def test_the_owner_does_find_it(as_buyer: Client, things: dict[str, Any]) -> None:
    # What ends a thing comes last, so that the others find it.
    for name in sorted(OWNED, key=lambda name: name.endswith(("-cancel", "-delete", "-end"))):
        url = url_of(name, OWNED[name], things)
        codes = {method: answer.status_code for method, answer in answers(as_buyer, url)}
        # The test sends no address; a session that was ended is gone afterwards.
        assert set(codes.values()) & {200, 201, 302, 400}, (name, codes)
        assert 404 not in codes.values() or name in ENDED_BY_THE_FIRST_CALL, (name, codes)


def test_somebody_who_is_not_signed_in_is_asked_to(client: Client, things: dict[str, Any]) -> None:
    before = everything()
    for name, parameters in {**SIGNED_IN, **OWNED}.items():
        url = url_of(name, parameters, things)
        for method, answer in answers(client, url):
            if answer.status_code == UNKNOWN_METHOD:
                continue
            assert answer.status_code == (401 if url.startswith("/api/") else 302), f"{method} {name}"
            if url.startswith("/api/"):
                assert answer["WWW-Authenticate"], f"{method} {name}"
            else:
                assert unquote(answer["Location"]).startswith(f"{reverse(settings.LOGIN_URL)}?next=/"), (
                    f"{method} {name}"
                )
        assert everything() == before, name


@pytest.mark.slow
@pytest.mark.usefixtures("_refusals_without_page")
@pytest.mark.parametrize("who", ["nobody", "a buyer"])
def test_the_admin_is_for_staff(client: Client, buyer: User, things: dict[str, Any], who: str) -> None:
    if who == "a buyer":
        client.force_login(buyer)
    before = everything()
    let_in = []
    for route in OF_ADMIN:
        url = "/" + re.sub(r"<[^>]+>", "1", route).replace("(?P1.*)$", "anything/")
        found = dict(answers(client, url, METHODS_OF_PAGES))
        if {answer.status_code for answer in found.values()} == {UNKNOWN_METHOD}:
            found = dict(answers(client, url))
        let_in += [
            f"{method} {url}: {answer.status_code}"
            for method, answer in found.items()
            if answer.status_code not in (403, 404, UNKNOWN_METHOD) and not leads_to_sign_in(answer)
        ]
    assert not let_in
    assert everything() == before


def leads_to_sign_in(answer: Any) -> bool:
    return answer.status_code == 302 and ("login" in answer["Location"] or "password" in answer["Location"])


def test_a_payment_page_is_known_to_who_has_its_reference_alone(client: Client, item: SaleItem, buyer: User) -> None:
    reference = payment_of(order_of(item, buyer)).provider_reference
    assert len(reference) > 20
    assert client.get(reverse("simulated-payment", args=[reference])).status_code == 200
    another = reference[:-1] + ("b" if reference.endswith("a") else "a")
    assert client.get(reverse("simulated-payment", args=[another])).status_code == 404
