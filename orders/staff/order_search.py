"""How the admin finds orders: by number, mail address or user name."""

import re
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from orders.models import Order
from orders.models.order import CODE_LENGTH

# More people than this are not one that staff mean, and each costs a look into the orders' index.
PEOPLE_MAX = 200
NUMBER_START = re.compile(r"[0-9a-f]{4,32}")


def find_orders(orders: QuerySet[Order], text: str) -> QuerySet[Order]:
    """The orders that `text` may mean; all of them if it is empty."""
    text = text.strip()
    if not text:
        return orders
    return orders.filter(with_code(text) | with_number(text) | of_buyers(text))


def with_code(text: str) -> Q:
    """The short number, or its beginning. Said on the phone or copied, it may have spaces and dashes."""
    code = re.sub(r"[^A-Z0-9]", "", text.upper())
    if not 3 <= len(code) <= CODE_LENGTH:
        return Q(pk__in=[])
    # A range, so that the index of the codes is used.
    return Q(code__range=(code, code + "Z" * (CODE_LENGTH - len(code))))


def of_buyers(text: str) -> Q:
    people = User.objects.filter(Q(email__icontains=text) | Q(username__icontains=text))
    found = Q(buyer__in=list(people.values_list("pk", flat=True)[:PEOPLE_MAX]))
    # Guests have no account; all orders are read for them, so only for what looks like an address.
    return found | Q(email__icontains=text) if "@" in text else found


def with_number(text: str) -> Q:
    """The beginning of a number, or all of it. As a range, so that the index of the numbers is used."""
    digits = text.lower().replace("-", "")
    if not NUMBER_START.fullmatch(digits):
        return Q(pk__in=[])
    return Q(number__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))))
