"""How the admin finds orders: by number, mail address, user name, or the name on the parcel. Each by an index."""

import re
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from orders.models import Order, ShippingAddress
from orders.models.order import CODE_LENGTH

# If more people match, staff mean none of them, and each costs a look into the orders' index.
PEOPLE_MAX = 200
# Staff do not read more. To find older orders, they type more of the name.
FOUND_MAX = 1_000
SEARCH_HELP = _("Order number, mail address, user name or name on the parcel")
NUMBER_START = re.compile(r"[0-9a-f]{4,32}")


def find_orders(orders: QuerySet[Order], text: str) -> QuerySet[Order]:
    """The orders that `text` may mean; all of them if it is empty."""
    text = text.strip()
    if not text:
        return orders
    # The numbers first, so that each part uses its own index. Together with other tables none could be used.
    found = Order.objects.filter(with_code(text) | with_number(text) | of_buyers(text))
    pks = [*found.order_by("-pk").values_list("pk", flat=True)[:FOUND_MAX], *sent_to(text)]
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
    found = Q(buyer__in=list(people.values_list("pk", flat=True)[:PEOPLE_MAX]))
    # Guests have no account. Their addresses are many, so they are found whole.
    return found | Q(buyer=None, email__iexact=text) if "@" in text else found


def sent_to(name: str) -> list[int]:
    """The latest orders to people whose names begin with the text."""
    addresses = ShippingAddress.objects.filter(name__istartswith=name).order_by("-order")
    return list(addresses.values_list("order", flat=True)[:FOUND_MAX])


def with_number(text: str) -> Q:
    """Orders whose number begins with the text."""
    return Q(number__range=bounds) if (bounds := uuids_from(text)) else Q(pk__in=[])


def uuids_from(text: str) -> tuple[UUID, UUID] | None:
    """The first and the last UUID that begin with the text: a range, so that an index is used. None if none do."""
    digits = text.lower().replace("-", "")
    if not NUMBER_START.fullmatch(digits):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
