"""How the admin finds orders: by what people read out on the phone or copy from a parcel. Each by an index."""

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from orders.models import Order, Payment, RecordedPayment, ShippingAddress
from orders.models.order import CODE_LENGTH, digits_of, letters_and_digits_of
from orders.payments.provider.names import ProviderName
from orders.staff.read_only_admin import ReadOnlyAdmin

# If more people match, staff mean none of them, and each costs a look into the orders' index.
PEOPLE_MAX = 200
# Staff do not read more. To find older orders, they type more of the name.
FOUND_MAX = 1_000
# The indexes for parts of a text know groups of three letters.
PART_LENGTH_MIN = 3
# Shorter ones would be in many phone and tracking numbers.
DIGITS_MIN = 5
# Of a number with the code of its country, which may not be stored.
DIGITS_WITHOUT_COUNTRY = 9
SEARCH_HELP = _("Order number, mail address, name, phone, tracking number or payment reference, also a part of it")
NUMBER_START = re.compile(r"[0-9a-f]{4,32}")
PHONE = re.compile(r"(?P<country>\+|00)?[\d\s()./-]+")


class SearchedOrders(ReadOnlyAdmin):
    # Without fields there would be no search box; `get_search_results` does the search.
    search_fields = ["code"]
    search_help_text = SEARCH_HELP

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        return find_orders(queryset, search_term), False


def find_orders(orders: QuerySet[Order], text: str) -> QuerySet[Order]:
    """The orders that `text` may mean; all of them if it is empty."""
    text = text.strip()
    if not text:
        return orders
    # The numbers first, so that each part uses its own index. Together with other tables none could be used.
    found = Order.objects.filter(with_code(text) | with_number(text) | of_buyers(text))
    pks = {*found.order_by("-pk").values_list("pk", flat=True)[:FOUND_MAX], *sent_to(text), *with_phone(text)}
    if len(text) >= PART_LENGTH_MIN:
        pks |= {*of_guests(text), *with_tracking(text), *paid_with(text)}
    return orders.filter(pk__in=pks)


def with_code(text: str) -> Q:
    """Orders whose short number begins with the text."""
    code = code_in(text)
    if not 3 <= len(code) <= CODE_LENGTH:
        return Q(pk__in=[])
    # A range, so that the index of the codes is used.
    return Q(code__range=(code, code + "Z" * (CODE_LENGTH - len(code))))


def code_in(text: str) -> str:
    """A short number as people say or copy it, without spaces and dashes."""
    return re.sub(r"[^A-Z0-9]", "", text.upper())


def of_buyers(text: str) -> Q:
    people = User.objects.filter(Q(email__icontains=text) | Q(username__icontains=text))
    return Q(buyer__in=list(people.values_list("pk", flat=True)[:PEOPLE_MAX]))


def of_guests(text: str) -> Iterable[int]:
    """Guests have no account: their address is with the order."""
    return latest(Order.objects.filter(buyer=None, email__icontains=text).order_by("-pk"), "pk")


def sent_to(name: str) -> Iterable[int]:
    """The latest orders to people whose names begin with the text; a longer text may stand anywhere: "Smith"."""
    named = Q(name__istartswith=name)
    if len(name) >= PART_LENGTH_MIN:
        named |= Q(name__icontains=name)
    return latest(ShippingAddress.objects.filter(named).order_by("-order"), "order")


def with_phone(text: str) -> Iterable[int]:
    """People write a phone number in many ways, so only digits count."""
    match, digits = PHONE.fullmatch(text), re.sub(r"\D", "", text)
    if match is None or len(digits) < DIGITS_MIN:
        return []
    if match["country"]:
        digits = digits[-DIGITS_WITHOUT_COUNTRY:]
    addresses = ShippingAddress.objects.annotate(digits=digits_of("phone")).filter(digits__contains=digits)
    return latest(addresses.order_by("-order"), "order")


def with_tracking(text: str) -> Iterable[int]:
    """With or without the spaces that stand on a parcel."""
    number = code_in(text)
    if len(number) < DIGITS_MIN:
        return []
    sent = Order.objects.exclude(tracking_number="").annotate(letters=letters_and_digits_of("tracking_number"))
    return latest(sent.filter(letters__contains=number).order_by("-pk"), "pk")


def paid_with(text: str) -> Iterable[int]:
    """By the whole reference at the provider, or a part of that which staff recorded."""
    payments = Payment.objects.filter(provider__in=list(ProviderName), provider_reference=text)
    recorded = RecordedPayment.objects.filter(reference__icontains=text).order_by("-order")
    return [*payments.values_list("order", flat=True), *latest(recorded, "order")]


def latest(rows: "QuerySet[Any]", name: str) -> Iterable[int]:
    return list(rows.values_list(name, flat=True)[:FOUND_MAX])


def with_number(text: str) -> Q:
    """Orders whose number begins with the text."""
    return Q(number__range=bounds) if (bounds := uuids_from(text)) else Q(pk__in=[])


def uuids_from(text: str) -> tuple[UUID, UUID] | None:
    """The first and the last UUID that begin with the text: a range, so that an index is used. None if none do."""
    digits = text.lower().replace("-", "")
    if not NUMBER_START.fullmatch(digits):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
