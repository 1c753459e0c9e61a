"""The cast: who buys and who runs the shop, what is for sale, and an order that awaits payment."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.core.handlers import exception
from django.db import OperationalError, connection, connections
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders.models import Order, Payment
from orders.tasks import move_waiting_rooms
from seckill import ledger
from seckill.models import SaleItem
from seckill.passes import passes
from shop.models import Category, Product
from tests.steps.buying import order_of, reserve
from tests.steps.paying import payment_of
from tests.steps.shop import make_item, make_product

PassFor = Callable[..., str]


@pytest.fixture
def buyer(db: None) -> User:
    return User.objects.create_user("buyer", password="buyer-password")


@pytest.fixture
def buyer_with_password(buyer: User) -> User:
    """A buyer who can sign in with the form: the shop's own hashers do not know the cheap one of the tests."""
    buyer.password = PBKDF2PasswordHasher().encode("a-good-password", "salt", iterations=1_000)
    buyer.save(update_fields=["password"])
    return buyer


@pytest.fixture
def rival(db: None) -> User:
    return User.objects.create_user("rival", password="rival-password")


@pytest.fixture
def stranger(db: None) -> User:
    return User.objects.create_user("stranger", password="stranger-password")


@pytest.fixture
def shop_manager(db: None) -> User:
    return User.objects.create_superuser("manager", password="manager-password")


@pytest.fixture
def as_buyer(client: Client, buyer: User) -> Client:
    """The browser of the buyer, who is signed in."""
    client.force_login(buyer)
    return client


@pytest.fixture
def as_manager(client: Client, shop_manager: User) -> Client:
    client.force_login(shop_manager)
    return client


@pytest.fixture
def _manager_signed_in(client: Client, shop_manager: User) -> None:
    client.force_login(shop_manager)


@pytest.fixture
def product(db: None) -> Product:
    category = Category.objects.create(name="Tea", name_zh_hans="茶", slug="tea")
    return make_product(
        name="Longjing tea", name_zh_hans="龙井茶", slug="longjing", price_minor=9900, category=category
    )


@pytest.fixture
def item(product: Product) -> SaleItem:
    """Five units on sale now, at most one per buyer."""
    return make_item(product)


@pytest.fixture
def waiting(product: Product) -> SaleItem:
    """Fifty units of a sale with a waiting room, which opens in five minutes."""
    item = make_item(product, quantity=50, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    return item


@pytest.fixture
def running(item: SaleItem, buyer: User, rival: User) -> SaleItem:
    """The item, of whose five units one is held and one sold."""
    reserve(item, buyer)
    ledger.confirm(item_id=item.pk, reservation_ids=[reserve(item, rival)])
    return item


@pytest.fixture
def order(item: SaleItem, buyer: User) -> Order:
    """One unit of the item, to be paid."""
    return order_of(item, buyer)


@pytest.fixture
def payment(order: Order) -> Payment:
    """A pending payment of the order, with an open page."""
    return payment_of(order)


@pytest.fixture
def _refusals_without_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of many refusals: the page that explains each takes most of the time, and only the status counts."""

    def refusal(_request: HttpRequest, _resolver: object, status: int, _error: Exception) -> HttpResponse:
        return HttpResponse(status=status)

    monkeypatch.setattr(exception, "get_exception_response", refusal)


@pytest.fixture
def _no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL is away."""

    def refused(*_: object, **__: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(type(connections["default"]), "cursor", refused)


@pytest.fixture
def api() -> APIClient:
    return APIClient()


@pytest.fixture
def pass_for() -> PassFor:
    """Makes a valid pass for a buyer and an item, as the API does."""

    def issue(buyer: User, item: SaleItem, *, expires_in_seconds: int = 600) -> str:
        expires_s = int(timezone.now().timestamp()) + expires_in_seconds
        return passes.issue(item_id=item.pk, buyer_id=buyer.pk, expires_s=expires_s)

    return issue


@pytest.fixture
def first_number_drawn_twice(transactional_db: None) -> Iterator[None]:
    """PostgreSQL's function for short numbers gives the first two orders the same one, and then others."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('orders_new_code'::regproc)")
        (definition,) = cursor.fetchone()
        cursor.execute("CREATE SEQUENCE draws")
        cursor.execute(
            "CREATE OR REPLACE FUNCTION orders_new_code() RETURNS text LANGUAGE sql VOLATILE AS "
            "$$ SELECT lpad(greatest(nextval('draws') - 1, 1)::text, 8, 'A') $$"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute(definition)
        cursor.execute("DROP SEQUENCE draws")
