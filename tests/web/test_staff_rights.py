"""Which permission each action of the staff needs, in one table: with all others together it is refused.

What gives rights is refused to all but superusers (tests/shop/accounts/test_rights_table.py).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import product as product_of
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection, models, transaction
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone
from pytest_django import Settings

from orders.life import lifecycle
from orders.models import (
    ApprovalRequest,
    Attention,
    Document,
    Mail,
    Order,
    PaymentEvent,
    ShippingAddress,
    ShippingMethod,
)
from orders.staff.order_page import STEPS
from seckill.models import SaleChange, SaleItem
from seckill.staff.change_pages import TITLES
from shop.models import Category, Customer, Product, TaxRate
from tests.steps.buying import ADDRESS, GUEST, new_buyers, order_of, plain_order, with_address
from tests.steps.paying import event_of_another_shop
from tests.steps.shop import goods, make_item, make_product
from tests.steps.staff import change, control_form, employee
from tests.steps.tables import upload

pytestmark = pytest.mark.django_db

# A statement that changes something; the session of the person is not meant.
WRITES = re.compile(r'^(INSERT INTO|UPDATE|DELETE FROM) "(?!django_session|usersessions_)')


@dataclass(frozen=True)
class Shop:
    """Something for each action. Orders are named for what can be done with them."""

    boss: Client
    item: SaleItem
    paused: SaleItem
    alone_paused: SaleItem
    draft: SaleItem
    to_pay: Order
    to_send: Order
    to_complete: Order
    to_pay_back: Order
    to_look_at: Order
    of_unknown_payment: PaymentEvent
    of_guest: Order
    asked: ApprovalRequest
    mail: Mail
    unsent: Mail
    invoice: Document
    # By their models, which have the action *Delete*.
    unused: dict[str, models.Model]


@pytest.fixture
def shop(product: Product, shop_manager: User, stranger: User, settings: Settings) -> Shop:
    settings.REHEARSALS = True
    boss = Client()
    boss.force_login(shop_manager)
    item = make_item(product, quantity=9)
    buyers = new_buyers(5)
    with_address(*buyers)
    orders = [order_of(item, buyer) for buyer in buyers]
    for order in orders[1:]:
        assert lifecycle.pay(order_id=order.pk)
    to_pay, to_send, to_complete, to_pay_back, to_look_at = orders
    assert lifecycle.ship(order_id=to_complete.pk)
    assert lifecycle.refund(order_id=to_pay_back.pk, units_back=False)
    Order.objects.filter(pk=to_look_at.pk).update(attention=Attention.REFUND_FAILS)
    of_guest = plain_order(goods("mug"), None, 1, 1000, email=GUEST)
    ShippingAddress.objects.create(order=to_send, **ADDRESS)
    Mail.objects.exclude(order=to_complete).update(sent_at=timezone.now(), next_attempt_at=None)
    draft = make_item(make_product(slug="cup", name="Cup", price_minor=9900), published=False, opens_in_seconds=900)
    paused = make_item(make_product(slug="pen", name="Pen", price_minor=9900), has_room=True)
    change(paused, SaleChange.Kind.PAUSE)
    alone = make_item(make_product(slug="ink", name="Ink", price_minor=9900))
    change(alone, SaleChange.Kind.PAUSE_ITEM)
    unused = (
        Category.objects.create(name="Cups", slug="cups"),
        TaxRate.objects.create(name="Books", percent=Decimal(9)),
        Product.objects.create(name="Pot", slug="pot"),
        make_item(make_product(slug="jug", name="Jug", price_minor=9900), published=False).sale,
        Customer.objects.get(pk=stranger.pk),
        ShippingMethod.objects.create(code="post", name="Post"),
    )
    return Shop(
        boss,
        item,
        paused,
        alone,
        draft,
        to_pay,
        to_send,
        to_complete,
        to_pay_back,
        to_look_at,
        of_unknown_payment=event_of_another_shop(hours_ago=2),
        of_guest=of_guest,
        asked=ApprovalRequest.objects.create(
            kind=ApprovalRequest.Kind.REFUND,
            subject_id=to_send.pk,
            subject=str(to_send),
            details={"amount_minor": 100, "currency": "CNY", "is_all": False, "units": {}, "units_back": False},
            asked_by=shop_manager,
            expires_at=timezone.now() + timedelta(hours=1),
        ),
        mail=Mail.objects.filter(order=to_send, kind=Mail.Kind.PAID).get(),
        unsent=Mail.objects.filter(order=to_complete, sent_at=None)[0],
        invoice=Document.objects.filter(order=to_send).get(),
        unused={row._meta.label_lower: row for row in unused},
    )


Form = Callable[[Shop], dict[str, Any]]
Args = Callable[[Shop], list[Any]]
Needs = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Action:
    """A form that is sent to a page of the admin, or a page that is read (`form` is None).

    `name` is that of the page's address and, after a space, what is done there. Each of `needs` is a choice of
    permissions, of which one is needed.
    """

    name: str
    needs: Needs
    args: Args
    form: Form | None = None

    @property
    def page(self) -> str:
        return self.name.partition(" ")[0]

    def takes_effect(self, client: Client, shop: Shop) -> bool:
        """Whether something was written, or shown. What was written is taken back."""
        path = reverse(f"admin:{self.page}", args=self.args(shop))
        if self.form is None:
            return client.get(path).status_code == 200
        form = {"confirmed": "yes", **self.form(shop)}
        before = transaction.savepoint()
        with CaptureQueriesContext(connection) as captured:
            answer = client.post(path, form)
        transaction.savepoint_rollback(before)
        assert answer.status_code in {200, 302, 403}, self.name
        is_file = "attachment" in answer.headers.get("Content-Disposition", "")
        is_printed = "?orders=" in answer.headers.get("Location", "")
        return is_file or is_printed or any(WRITES.match(query["sql"]) for query in captured)


def no_args(shop: Shop) -> list[Any]:
    return []


def with_mail_address(shop: Shop) -> dict[str, Any]:
    """The person who asks for a mail has an address."""
    User.objects.filter(username="employee").update(email="employee@shop.example")
    return {}


def chosen(action: str, row: models.Model, **more: Any) -> dict[str, Any]:
    """An action of a list that is chosen for a row, and confirmed."""
    return {"action": action, "_selected_action": row.pk, "post": "yes", **more}


def received(order: Order) -> dict[str, Any]:
    return {f"order-{order.pk}-amount": "19.00", f"order-{order.pk}-reference": "BANK-1"}


def preview(shop: Shop, table: str, row: dict[str, Any]) -> dict[str, Any]:
    """What the button below the preview of an uploaded table sends."""
    answer = upload(shop.boss, f"/admin/{table}/", row)
    form: dict[str, Any] = answer.context["confirm_form"].initial
    return form


def exported(shop: Shop) -> dict[str, Any]:
    return {"format": "0", "resource": "0"}


CHANGE_ORDERS: Needs = (("orders.change_order",),)
SHIP_ORDERS: Needs = (("orders.ship_order", "orders.change_order"),)
SHIP_SEEN_ORDERS: Needs = (*SHIP_ORDERS, ("orders.view_order", "orders.change_order"))
SEE_ORDERS: Needs = (("orders.view_order", "orders.change_order"),)
CHANGE_SALES: Needs = (("seckill.change_sale",),)
SEE_SALES: Needs = (("seckill.view_sale", "seckill.change_sale"),)
ADD_SALES: Needs = (("seckill.add_sale",),)
IMPORT_PRODUCTS: Needs = (("shop.add_product",), ("shop.change_product",))
IMPORT_STOCK: Needs = (("shop.view_variant",), ("shop.add_stockchange",))

# What is done with one order on its page, and with many in a list.
OF_ORDERS: list[tuple[str, Args, Form]] = [
    ("orders_order_step record-payment", lambda it: [it.to_pay.pk, "record-payment"], lambda it: received(it.to_pay)),
    ("orders_order_step cancel", lambda it: [it.to_pay.pk, "cancel"], lambda it: {}),
    (
        "orders_order_step refund",
        lambda it: [it.to_send.pk, "refund"],
        lambda it: {"amount": "19.00", "refund_id": str(it.to_send.number)},
    ),
    (
        "orders_order_step paid-back",
        lambda it: [it.to_pay_back.pk, "paid-back"],
        lambda it: {"reference": "BACK-1", "refunds": [refund.pk for refund in it.to_pay_back.refunds.all()]},
    ),
    ("orders_order_address", lambda it: [it.to_pay.pk], lambda it: ADDRESS),
    ("orders_order_email", lambda it: [it.of_guest.pk], lambda it: {"email": "right@example.com"}),
    (
        "orders_order_changelist record_payment",
        no_args,
        lambda it: chosen("record_payment", it.to_pay, **received(it.to_pay)),
    ),
    ("orders_order_changelist cancel_orders", no_args, lambda it: chosen("cancel_orders", it.to_pay)),
    ("orders_order_changelist refund_orders", no_args, lambda it: chosen("refund_orders", it.to_send)),
    (
        "orders_paymentevent_changelist mark_dealt_with",
        no_args,
        lambda it: chosen("mark_dealt_with", it.of_unknown_payment),
    ),
    ("orders_ordertolookat_changelist mark_resolved", no_args, lambda it: chosen("mark_resolved", it.to_look_at)),
    (
        "orders_approvalrequest_change approve",
        lambda it: [it.asked.pk],
        lambda it: {"approve": "", "reason": "seen"},
    ),
    ("orders_mail_again", lambda it: [it.mail.pk], lambda it: {}),
    ("orders_mail_changelist send_again", no_args, lambda it: chosen("send_again", it.unsent)),
]

# What packers may do too. Those in a list need to see it.
OF_PARCELS: list[tuple[str, Needs, Args, Form]] = [
    ("orders_order_step ship", SHIP_ORDERS, lambda it: [it.to_send.pk, "ship"], lambda it: {}),
    ("orders_order_step complete", SHIP_ORDERS, lambda it: [it.to_complete.pk, "complete"], lambda it: {}),
    (
        "orders_order_notes",
        SHIP_ORDERS,
        lambda it: [it.to_pay.pk],
        lambda it: {"note_id": str(it.to_pay.number), "text": "Called."},
    ),
    ("orders_order_tracking", SHIP_ORDERS, lambda it: [it.to_complete.pk], lambda it: {"carrier": "DHL"}),
    (
        "orders_order_changelist ship_orders",
        SHIP_SEEN_ORDERS,
        no_args,
        lambda it: chosen("ship_orders", it.to_send),
    ),
    (
        "orders_ordertopack_changelist ship_orders",
        SHIP_SEEN_ORDERS,
        no_args,
        lambda it: chosen("ship_orders", it.to_send),
    ),
    (
        "orders_order_changelist complete_orders",
        SHIP_SEEN_ORDERS,
        no_args,
        lambda it: chosen("complete_orders", it.to_complete),
    ),
    (
        "orders_order_process_import",
        SHIP_ORDERS,
        no_args,
        lambda it: preview(it, "orders/order", {"order": it.to_send.shown_code, "carrier": "DHL"}),
    ),
]

# What is done with a sale, and with an item of it.
OF_SALES: list[tuple[str, Args, Form]] = [
    (
        "seckill_sale_publish",
        lambda it: [it.draft.sale_id],
        lambda it: {"confirmed": [f"price-{it.draft.pk}-{it.draft.price_minor}", "unchecked"]},
    ),
    *(
        (
            f"seckill_sale_control {kind.value}",
            lambda it, kind=kind: [(it.paused if kind == SaleChange.Kind.RESUME else it.item).sale_id, kind.value],
            lambda it: control_form(closes_at="2099-01-01T00:00"),
        )
        for kind in (SaleChange.Kind.PAUSE, SaleChange.Kind.RESUME, SaleChange.Kind.MOVE_END, SaleChange.Kind.END_NOW)
    ),
    (
        "seckill_sale_control resume_item",
        lambda it: [it.alone_paused.sale_id, "resume_item", it.alone_paused.pk],
        lambda it: control_form(),
    ),
    (
        "seckill_sale_control pace",
        lambda it: [it.paused.sale_id, "pace"],
        lambda it: control_form(units=5),
    ),
    *(
        (
            f"seckill_sale_control {kind.value}",
            lambda it, kind=kind: [it.item.sale_id, kind.value, it.item.pk],
            lambda it: control_form(units=2),
        )
        for kind in (
            *(SaleChange.Kind.ADD_UNITS, SaleChange.Kind.WITHDRAW_UNITS),
            *(SaleChange.Kind.UNITS_PER_BUYER, SaleChange.Kind.PAUSE_ITEM),
        )
    ),
]

TABLE = [
    *(Action(name, CHANGE_ORDERS, args, form) for name, args, form in OF_ORDERS),
    *(Action(name, CHANGE_SALES, args, form) for name, args, form in OF_SALES),
    *(Action(*row) for row in OF_PARCELS),
    Action("orders_order_import", SHIP_ORDERS, no_args),
    Action("orders_order_export", SEE_ORDERS, no_args, exported),
    Action("orders_ordertolookat_dead_letters", SEE_ORDERS, no_args),
    *(
        Action(
            f"orders_ordertopack_changelist {action}",
            SEE_ORDERS,
            no_args,
            lambda it, action=action: chosen(action, it.to_send),  # type: ignore[misc]
        )
        for action in ("print_pick_list", "print_packing_slips")
    ),
    Action("orders_ordertopack_packing_slips", SEE_ORDERS, no_args),
    Action("orders_ordertopack_pick_list", SEE_ORDERS, no_args),
    Action("orders_document_print", SEE_ORDERS, lambda it: [it.invoice.pk]),
    Action("orders_document_pdf", SEE_ORDERS, lambda it: [it.invoice.pk]),
    Action("orders_document_export", SEE_ORDERS, no_args, exported),
    Action(
        "seckill_sale_duplicate_sale",
        ADD_SALES,
        lambda it: [it.item.sale_id],
        lambda it: {},
    ),
    Action("seckill_sale_check_before_opening", CHANGE_SALES, lambda it: [it.draft.sale_id]),
    Action("seckill_sale_preflight_look", CHANGE_SALES, lambda it: [it.draft.sale_id, it.to_pay.number, 0]),
    Action("seckill_sale_test_mail", CHANGE_SALES, lambda it: [it.draft.sale_id], with_mail_address),
    Action("seckill_sale_rehearse", CHANGE_SALES, lambda it: [it.draft.sale_id]),
    Action("seckill_sale_rehearsal_progress", CHANGE_SALES, lambda it: [it.draft.sale_id]),
    Action("seckill_sale_preview", SEE_SALES, lambda it: [it.draft.sale_id, "en"]),
    Action("seckill_sale_report", SEE_SALES, lambda it: [it.item.sale_id]),
    Action("seckill_sale_report_file", SEE_SALES, lambda it: [it.item.sale_id, "csv"]),
    Action("seckill_saleitem_figures", SEE_SALES, no_args),
    Action("shop_product_import", IMPORT_PRODUCTS, no_args),
    Action(
        "shop_product_process_import",
        IMPORT_PRODUCTS,
        no_args,
        lambda it: preview(it, "shop/product", {"slug": "longjing", "name_en": "Tea of the year"}),
    ),
    Action("shop_product_export", (("shop.view_product", "shop.change_product"),), no_args, exported),
    Action("shop_variant_import", IMPORT_STOCK, no_args),
    Action(
        "shop_variant_process_import",
        IMPORT_STOCK,
        no_args,
        lambda it: preview(it, "shop/variant", {"sku": "SKU-longjing", "change": "5", "reason": "delivery"}),
    ),
    Action(
        "shop_variant_export",
        (("shop.view_variant", "shop.change_variant", "shop.add_stockchange"),),
        no_args,
        exported,
    ),
]

# Rows that are edited on a page: the rights to add, change and delete one. None: nobody, or superusers alone.
# Other rows are read, and changed by the actions above.
EDITED: dict[str, tuple[str | None, str | None, str | None]] = {
    **{
        f"{app}.{model}": (f"{app}.add_{model}", f"{app}.change_{model}", f"{app}.delete_{model}")
        for app, model in (
            ("shop", "category"),
            ("shop", "taxrate"),
            ("shop", "product"),
            ("seckill", "sale"),
            ("orders", "shippingmethod"),
        )
    },
    "shop.variant": (None, "shop.add_stockchange", None),
    "shop.customer": (None, "auth.change_user", "auth.delete_user"),
    "shop.address": (None, "shop.change_address", None),
    "seckill.replicachoice": ("seckill.add_replicachoice", None, None),
}
NOBODY = (None, None, None)

# Pages of Django's own, about which no permission is; those about rights; and those that nobody has.
OF_DJANGO = {
    *("index", "login", "logout", "password_change", "password_change_done", "jsi18n", "app_list"),
    *("autocomplete", "search", "view_on_site"),
}
FOR_SUPERUSERS = {"auth_user_password_change"}
NEVER = {"orders_document_import", "orders_document_process_import"}


def deletion_of(label: str) -> Form:
    return lambda it: chosen("delete_selected", it.unused[label])


def deletions() -> list[Action]:
    """Rows that are chosen in a list and deleted. To choose them one must see them."""
    return [
        Action(
            f"{label.replace('.', '_')}_changelist delete_selected",
            ((delete,), (str(changing).replace(".change_", ".view_"), str(changing))),
            no_args,
            deletion_of(label),
        )
        for label, (_add, changing, delete) in EDITED.items()
        if delete
    ]


@pytest.fixture
def permissions(db: None) -> dict[str, int]:
    """All that there are, by their names."""
    rows = Permission.objects.values_list("content_type__app_label", "codename", "pk")
    return {f"{app}.{codename}": pk for app, codename, pk in rows}


@pytest.mark.slow
@pytest.mark.usefixtures("_refusals_without_page")
def test_an_action_is_taken_with_its_permissions_alone_and_refused_without_one_of_them(
    client: Client, shop: Shop, permissions: dict[str, int]
) -> None:
    actions, person = [*TABLE, *deletions()], employee()
    client.force_login(person)
    refused = []
    for action in actions:
        for names in product_of(*action.needs):
            person.user_permissions.set({permissions[name] for name in names})
            if not action.takes_effect(client, shop):
                refused.append((action.name, names))
    assert refused == []
    allowed = []
    person.user_permissions.set(permissions.values())
    for action in actions:
        for choice in action.needs:
            pks = [permissions[name] for name in choice]
            person.user_permissions.remove(*pks)
            if action.takes_effect(client, shop):
                allowed.append((action.name, choice))
            person.user_permissions.add(*pks)
    assert allowed == []


def test_rows_are_edited_with_their_own_permissions_alone(permissions: dict[str, int]) -> None:
    request = RequestFactory().get("/admin/")
    wrong = []
    for name in permissions:
        request.user = User(is_staff=True)
        # Where Django keeps what it has read.
        request.user._perm_cache = {name}  # type: ignore[attr-defined]
        for model, page in admin.site._registry.items():
            wanted = EDITED.get(model._meta.label_lower, NOBODY)
            may = (page.has_add_permission, page.has_change_permission, page.has_delete_permission)
            for verb, permission, allows in zip(("add", "change", "delete"), wanted, may, strict=True):
                if allows(request) != (name == permission):
                    wrong.append((name, verb, model._meta.label))
    assert wrong == []


def test_the_tables_have_every_page_and_every_action_of_the_admin() -> None:
    covered = {action.name for action in [*TABLE, *deletions()]}
    pages = {action.page for action in TABLE}
    of_rows = {
        f"{model._meta.app_label}_{model._meta.model_name}_{page}"
        for model in admin.site._registry
        for page in ("changelist", "add", "change", "delete", "history")
    }
    others = {str(pattern.name) for pattern in patterns_of(admin.site.get_urls()) if pattern.name}
    assert others - of_rows - OF_DJANGO - pages - FOR_SUPERUSERS - NEVER == set()
    listed = {
        f"{model._meta.app_label}_{model._meta.model_name}_changelist {action}"
        for model, page in admin.site._registry.items()
        for action in page.actions or ()
    }
    assert listed - covered == set()
    assert {kind.value for kind in TITLES} == {
        action.name.partition(" ")[2] for action in TABLE if action.page == "seckill_sale_control"
    }
    assert set(STEPS) == {action.name.partition(" ")[2] for action in TABLE if action.page == "orders_order_step"}


def patterns_of(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from patterns_of(pattern.url_patterns)
        else:
            yield pattern
