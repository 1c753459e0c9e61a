"""Every list and form of the admin stays small and quick, however much there is: generated from what is registered."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteMixin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import models, transaction
from django.forms import HiddenInput, ModelChoiceField
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from model_bakery import baker

from orders.fulfilment.packing_queue import OrderToPack
from orders.invoices.writing import write_invoice
from orders.life import lifecycle
from orders.models import (
    ApprovalRequest,
    Attention,
    Document,
    Mail,
    Order,
    OrderLine,
    PaymentEvent,
    ShippingAddress,
)
from orders.staff.needs_attention import OrderToLookAt
from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Address, Category, Product, TaxRate, Variant
from tests.steps.buying import ADDRESS, make_orders
from tests.steps.paying import make_events
from tests.steps.shop import statements, statements_for

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

# Of these a shop has a handful, so that a list of all of them is short.
# A shop has some tens of categories, and their choice shows the tree.
FEW: set[type[models.Model]] = {Group, Permission, TaxRate, ContentType, Category}
PAGE_BYTES_MAX = 300_000

# An address is found by its customer.
WITHOUT_LIST: set[type[models.Model]] = {Address}


def add_rows(model: type[models.Model], count: int, *, item: SaleItem, buyer: User) -> None:
    """Rows as the shop makes them, where its rules are stricter than the columns; otherwise any that fit."""
    now = timezone.now()
    if model in (Order, OrderToLookAt):
        make_orders(count, buyer=buyer, item=item)
        Order.objects.update(attention=Attention.REFUND_FAILS)
    elif model is OrderToPack:
        for order in make_orders(count, buyer=buyer, item=item):
            lifecycle.mark_paid(order)
            ShippingAddress.objects.create(order=order, **ADDRESS)
    elif model is ApprovalRequest:
        amount = {"amount_minor": 100, "currency": "CNY"}
        for order in make_orders(count, buyer=buyer, item=item):
            baker.make(ApprovalRequest, kind=ApprovalRequest.Kind.REFUND, subject_id=order.pk, details=amount)
    elif model is PaymentEvent:
        make_events(make_orders(count, buyer=buyer, item=item))
    elif model is Mail:
        orders = make_orders(count, buyer=buyer, item=item)
        Mail.objects.bulk_create(Mail(order=order, kind=Mail.Kind.PAID) for order in orders)
    elif model is Document:
        for order in make_orders(count, buyer=buyer, item=item):
            write_invoice(order_id=order.pk)
    elif model is User:
        User.objects.bulk_create(User(username=str(uuid4()), email="a@example.com") for _ in range(count))
    elif model is Sale:
        for _ in range(count):
            baker.make(Sale, opens_at=now, closes_at=now + timedelta(hours=1), hold_seconds=60)
    elif model in (SaleItem, SaleChange):
        for _ in range(count):
            variant = baker.make(Variant, product=baker.make(Product, slug=str(uuid4())), sku=str(uuid4()))
            row = baker.make(SaleItem, sale=item.sale, variant=variant, price_minor=1, quantity=1, per_buyer_max=1)
            if model is SaleChange:
                baker.make(SaleChange, item=row, made_by=buyer, units=None)
    else:
        for _ in range(count):
            texts: dict[str, Any] = {name: str(uuid4()) for name in text_keys(model)}
            baker.make(model, **texts)


def text_keys(model: type[models.Model]) -> list[str]:
    """Unique texts, which the library would make longer than the columns or the rules allow."""
    return [
        field.name
        for field in model._meta.get_fields()
        if isinstance(field, models.CharField) and field.unique and (field.max_length or 0) >= 36
    ]


def list_url(model: type[models.Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def test_a_list_of_six_makes_as_many_queries_as_a_list_of_two(client: Client, item: SaleItem, buyer: User) -> None:
    grown = {}
    for model in admin.site._registry.keys() - WITHOUT_LIST:
        with transaction.atomic():
            add_rows(model, 2, item=item, buyer=buyer)
            few = statements_for(client, list_url(model))
            add_rows(model, 4, item=item, buyer=buyer)
            many = statements(client, list_url(model))
            if many != few:
                grown[model.__name__] = (few, many)
            transaction.set_rollback(True)
    assert grown == {}


def test_a_form_offers_no_list_that_grows_with_the_shop(rf: RequestFactory, shop_manager: User) -> None:
    request = rf.get("/")
    request.user = shop_manager
    for registered in admin.site._registry.values():
        forms = [registered.get_form(request)] if registered.has_add_permission(request) else []
        forms += [
            formset.form
            for formset, inline in registered.get_formsets_with_inlines(request)
            if inline.has_change_permission(request)
        ]
        for name, field in (field for form in forms for field in form.base_fields.items()):
            if not isinstance(field, ModelChoiceField) or isinstance(field.widget, HiddenInput):
                continue
            target, widget = field.queryset.model, getattr(field.widget, "widget", field.widget)  # type: ignore[union-attr]
            assert target in FEW or isinstance(widget, AutocompleteMixin), (
                f"{registered}: “{name}” lists all of {target.__name__}; use autocomplete_fields"
            )


@pytest.mark.parametrize("model", [Order, Product], ids=lambda model: model.__name__)
def test_a_full_page_of_a_list_is_not_heavy(
    client: Client, item: SaleItem, buyer: User, model: type[models.Model]
) -> None:
    add_rows(model, 60, item=item, buyer=buyer)
    page = client.get(list_url(model))
    assert len(page.content) < PAGE_BYTES_MAX
    if model is Order:
        assert OrderLine.objects.count() == 60


def test_a_nul_in_a_filter_is_answered_as_any_wrong_one(client: Client) -> None:
    for model in admin.site._registry.keys() - WITHOUT_LIST:
        texts = [field.name for field in model._meta.concrete_fields if isinstance(field, models.CharField)]
        for name in [name for name in texts if name != "password"][:1]:
            answer = client.get(list_url(model), {f"{name}__exact": "\0"})
            assert (answer.status_code, answer.headers.get("Location")) == (302, f"{list_url(model)}?e=1"), model
    assert client.get(list_url(Order), {"q": "\0"}).status_code == 200


def test_a_lookup_that_cannot_be_read_leads_back_to_the_list(client: Client, item: SaleItem) -> None:
    long = "9" * 4400
    for model, lookup in (
        (Mail, {"kind__range": "x"}),
        (Mail, {"kind__range": "1,2,3"}),
        (Document, {"issued_at__year": "1" + "0" * 30}),
        (Product, {"category": long}),
    ):
        answer = client.get(list_url(model), lookup)
        assert (answer.status_code, answer.headers.get("Location")) == (302, f"{list_url(model)}?e=1"), lookup
    for page in (f"{list_url(Mail)}{long}/history/", f"{list_url(Order)}{long}/delete/"):
        assert client.get(page).status_code in (302, 403, 404), page
    assert client.get(f"{list_url(SaleItem)}figures/", {"item": long}).json() == {}
