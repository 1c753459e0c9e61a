"""Every page of the storefront, opened one after the other as a visitor and a buyer come to them.

Each function yields the name of the page that is open now, in the state that the name says, for tests about what holds
for all pages.
"""

from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

from django.contrib.auth.models import User
from django.test import RequestFactory
from django.utils import timezone, translation
from playwright.sync_api import Page, Route

from orders.life import intake
from orders.models import Order, OrderStatus, Refund
from seckill.models import SaleChange, SaleItem
from shop.http import problems
from shop.models import Product, Variant
from tests.steps.accounts import latest_code_of
from tests.steps.buying import make_orders
from tests.steps.shop import other_item
from tests.steps.staff import change

OPEN_PAGES = (
    *("/", "/sales/{sale}/", "/products/", "/categories/tea/", "/products/longjing/"),
    *("/products/?min_price=x", "/products/?min_price=9999"),
    *("/search/", "/search/?q=longjing", "/search/?q=unicorn", "/cart/", "/orders/find/", "/nowhere/"),
    *("/accounts/login/", "/accounts/signup/", "/accounts/inactive/"),
    *("/accounts/password/reset/", "/accounts/password/reset/done/", "/accounts/password/reset/key/1-none/"),
)
OWN_PAGES = (
    *("/", "/sales/{sale}/", "/sale-items/{item}/reserve/"),
    *("/orders/", "/orders/?state=refunds", "/orders/{order}/", "/orders/{order}/cancel/"),
    *("/accounts/", "/accounts/addresses/", "/accounts/addresses/new/", "/accounts/email/", "/accounts/sessions/"),
    *("/accounts/password/change/", "/accounts/2fa/", "/accounts/tokens/", "/accounts/data/", "/accounts/logout/"),
)
# With a hint of what each has beside its status.
ORDER_STATES: dict[OrderStatus, dict[str, object]] = {
    OrderStatus.PAID: {"refunded_minor": 500},
    OrderStatus.SHIPPED: {"carrier": "DHL", "tracking_number": "JD0140012345", "shipped_at": timezone.now()},
    OrderStatus.EXPIRED: {},
    OrderStatus.REFUNDED: {"refunded_minor": 1900},
}
ADDRESS = {"name": "林薇", "line1": "南京路 1 号", "city": "上海", "phone": "13800138000"}


def add_variants(product: Product) -> None:
    """A dearer one, of which few are left, and one that is sold out."""
    Variant.objects.filter(product=product).update(options="50 g")
    for position, (options, price_minor, units) in enumerate((("100 g", 18900, 3), ("200 g", 35900, 0)), start=1):
        Variant.objects.create(
            product=product,
            sku=f"SKU-{position}",
            options=options,
            price_minor=price_minor,
            position=position,
            available=units,
        )


def own_paths(item: SaleItem, order: Order) -> list[str]:
    return [path.format(sale=item.sale_id, item=item.pk, order=order.number) for path in OWN_PAGES]


def open_page(page: Page, url: str, *, status: int = 200) -> None:
    """Otherwise a page that fails would be judged by its error page."""
    answer = page.goto(url)
    assert answer is not None
    assert answer.status == status, url
    # Nor by the page for signing in.
    assert page.url == url


def visitors_pages(page: Page, shop: str, item: SaleItem) -> Iterator[str]:
    for path in OPEN_PAGES:
        open_page(page, shop + path.format(sale=item.sale_id), status=404 if path == "/nowhere/" else 200)
        yield path
    open_page(page, f"{shop}/products/longjing/")
    page.locator("[name=sku]").last.check(force=True)
    yield "a product, with a choice that is sold out"
    yield from guests_purchase(page, shop)
    yield from failures(page, shop)


def guests_purchase(page: Page, shop: str) -> Iterator[str]:
    open_page(page, f"{shop}/products/longjing/")
    page.locator("[name=sku]").first.check(force=True)
    page.click("[data-add]")
    page.wait_for_url("**/cart/")
    yield "a cart that was just filled"
    Variant.objects.filter(sku="SKU-longjing").update(price_minor=9000)
    open_page(page, f"{shop}/cart/")
    yield "a cart with a price that has changed"
    open_page(page, f"{shop}/checkout/")
    yield "the checkout"
    page.click("#order-now")
    page.wait_for_selector("[role=alert]")
    yield "the checkout with faults"
    for name, value in {"email": "guest@example.com", **ADDRESS}.items():
        page.fill(f"[name={name}]", value)
    page.click("#order-now")
    page.wait_for_url("**/orders/guest/**")
    yield "the order of a guest"
    order = page.url
    page.click("#pay")
    page.wait_for_url("**/pay/simulated/*/")
    yield "the payment page"
    Order.objects.filter(buyer=None).update(status=OrderStatus.PAID, ended_at=timezone.now())
    open_page(page, f"{order}invoice/")
    yield "the invoice of a guest"


def failures(page: Page, shop: str) -> Iterator[str]:
    """A form that has expired, what a visitor sees when something fails, and a page without a connection."""
    open_page(page, f"{shop}/accounts/login/")
    page.locator("main form").evaluate("form => { form.csrfmiddlewaretoken.remove(); form.submit(); }")
    page.wait_for_selector(".empty")
    yield "a form that has expired (403)"

    def fail(route: Route) -> None:
        with translation.override("zh-hans" if "/zh-hans/" in route.request.url else "en"):
            answer = problems.server_error(RequestFactory().get("/"))
        route.fulfill(status=500, content_type="text/html", body=answer.content.decode())

    page.route("**/broken/", fail)
    open_page(page, f"{shop}/broken/", status=500)
    page.unroute("**/broken/")
    yield "a failure (500)"


def buyers_pages(page: Page, shop: str, item: SaleItem, buyer: User) -> Iterator[str]:
    """The buyer is the one of the fixture `buyer_with_password`."""
    enter_password(page, shop)
    page.wait_for_url(f"{shop}/")
    yield from lost_connection(page, shop, item)
    intake.drain_all(item_id=item.pk)
    order = Order.objects.get(buyer=buyer)
    for path in own_paths(item, order):
        open_page(page, shop + path)
        yield f"{path} of a buyer"
    open_page(page, f"{shop}/orders/{order.number}/")
    page.click("#pay")
    page.wait_for_url("**/address/")
    yield "the question for an address"
    for status, fields in ORDER_STATES.items():
        yield from order_in_state(page, shop, item, buyer, status, fields)
    open_page(page, f"{shop}/orders/?state=refunds")
    yield "the orders of which something was refunded"
    yield from before_and_after_a_sale(page, shop, item)
    yield from waiting_room(page, shop)
    yield from own_account(page, shop)


def enter_password(page: Page, shop: str) -> None:
    open_page(page, f"{shop}/accounts/login/")
    page.fill("[name=login]", "buyer")
    page.fill("[name=password]", "a-good-password")
    page.click("main form button")


def lost_connection(page: Page, shop: str, item: SaleItem) -> Iterator[str]:
    """The page tries again by itself, and reserves."""
    open_page(page, f"{shop}/sales/{item.sale_id}/")
    page.wait_for_selector("[data-buy]:visible")
    page.context.set_offline(True)
    page.click("[data-buy]")
    page.wait_for_selector("[data-outcome] strong")
    yield "a sale without a connection"
    page.context.set_offline(False)
    page.wait_for_selector(".outcome.reserved", timeout=30_000)


def order_in_state(
    page: Page, shop: str, item: SaleItem, buyer: User, status: OrderStatus, fields: dict[str, object]
) -> Iterator[str]:
    (order,) = make_orders(1, buyer=buyer, item=item, status=status)
    Order.objects.filter(pk=order.pk).update(expires_at=timezone.now() - timedelta(minutes=1), **fields)
    if fields.get("refunded_minor"):
        refunded = {"status": Refund.Status.REFUNDED, "ended_at": timezone.now()}
        Refund.objects.create(pk=uuid4(), order=order, amount_minor=500, **refunded)
    open_page(page, f"{shop}/orders/{order.number}/")
    yield f"an order that is {status}"


def before_and_after_a_sale(page: Page, shop: str, item: SaleItem) -> Iterator[str]:
    coming = other_item("oolong", opens_in_seconds=900, closes_in_seconds=1800)
    open_page(page, f"{shop}/sales/{coming.sale_id}/")
    page.click("[data-buy]")
    page.wait_for_selector(".outcome.scheduled a")
    yield "a card that waits for the opening and asks for an address"
    open_page(page, f"{shop}/products/oolong/")
    yield "a product that will be in a sale"
    change(item, SaleChange.Kind.END_NOW)
    open_page(page, f"{shop}/sales/{item.sale_id}/")
    page.wait_for_selector("#sale[data-phase=ended]")
    yield "a sale that ends while it is looked at"
    page.reload()
    yield "a sale that is over"


def waiting_room(page: Page, shop: str) -> Iterator[str]:
    sale_id = other_item("biluochun", opens_in_seconds=300, has_room=True).sale_id
    open_page(page, f"{shop}/sales/{sale_id}/")
    page.wait_for_selector("[data-room-lines] p", timeout=30_000)
    yield "a sale with a waiting room"
    open_page(page, f"{shop}/sales/{sale_id}/queue/")
    yield "the waiting room without scripts"


def own_account(page: Page, shop: str) -> Iterator[str]:
    """The pages of the second factor, which ask for the password first, and that of a deleted account."""
    open_page(page, f"{shop}/accounts/delete/")
    yield "an account that cannot be deleted yet"
    open_page(page, f"{shop}/accounts/tokens/")
    page.click("main form button")
    page.wait_for_selector("[name=password]")
    yield "the question for the password"
    page.fill("[name=password]", "a-good-password")
    page.click("main form button")
    page.wait_for_selector(".secret")
    yield "a new token"
    open_page(page, f"{shop}/accounts/2fa/totp/activate/")
    yield "turning the second factor on"
    page.fill("[name=code]", latest_code_of(page.locator("main code").inner_text()))
    page.click("main form button")
    recovery_code = page.locator(".recovery-codes code").first.inner_text()
    yield "the recovery codes"
    open_page(page, f"{shop}/accounts/logout/")
    page.click("main form button")
    page.wait_for_url(f"{shop}/")
    enter_password(page, shop)
    page.fill("[name=code]", recovery_code)
    yield "the second step of signing in"
    page.locator("main form button").first.click()
    page.wait_for_url(f"{shop}/")
    Order.objects.exclude(buyer=None).update(buyer=None, email="guest@example.com")
    open_page(page, f"{shop}/orders/")
    yield "no orders yet"
    open_page(page, f"{shop}/accounts/delete/")
    yield "the end of an account"
    page.click("main form button")
    page.fill("[name=password]", "a-good-password")
    page.click("main form button")
    page.wait_for_selector("main form", state="detached")
    yield "an account that is deleted"
