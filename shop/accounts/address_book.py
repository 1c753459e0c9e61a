"""A person's saved addresses: how many, which one is the default, and who may touch them."""

from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from shop.databases.prepared import Prepared
from shop.models import Address
from shop.models.people import lock_account

# More than one person sends parcels to. The list stays short enough to choose from.
ADDRESSES_MAX = 20


class AddressBookFull(Exception):
    """The person has ADDRESSES_MAX addresses already."""


def addresses_of(user_id: int) -> QuerySet[Address]:
    """The default first, then the newest."""
    return Address.objects.filter(user_id=user_id)


def default_address(user_id: int | None) -> Address | None:
    """The one that is used first. None for a guest."""
    return addresses_of(user_id).filter(is_default=True).first() if user_id is not None else None


def lacks_address(user_id: int) -> bool:
    """Whether the person will be asked for an address on the way to payment."""
    return bool(settings.SHIPPING_ADDRESS_REQUIRED) and prepared_default().first(user_id) is None


@lru_cache(maxsize=1)
def prepared_default() -> Prepared:
    return Prepared(addresses_of(0).filter(is_default=True).values_list("pk"))


def keep_address(*, user_id: int, values: Mapping[str, str]) -> None:
    """Add an address that was entered elsewhere, once. Raises AddressBookFull, AccountEnded."""
    if not addresses_of(user_id).filter(**values).exists():
        save_address(Address(user_id=user_id, **values))


def book_full_text() -> str:
    text = _("You have %(count)d addresses already. Delete one before you add another.")
    return text % {"count": ADDRESSES_MAX}


@transaction.atomic
def save_address(address: Address) -> None:
    """Save a new or changed address. The only one is the default, and a new default replaces the former one.

    Raises AddressBookFull, AccountEnded.
    """
    # Two forms sent at the same moment would each see room for one more, or make a default each.
    lock_account(address.user_id)
    others = addresses_of(address.user_id).exclude(pk=address.pk)
    if address._state.adding and others.count() >= ADDRESSES_MAX:
        raise AddressBookFull
    if address.is_default:
        others.filter(is_default=True).update(is_default=False)
    elif not others.filter(is_default=True).exists():
        address.is_default = True
    address.save()


@transaction.atomic
def delete_address(*, user_id: int, address_id: UUID) -> bool:
    """Whether there was one. After the default, the newest becomes the default. Raises AccountEnded."""
    lock_account(user_id)
    deleted, _rows = addresses_of(user_id).filter(pk=address_id).delete()
    left = addresses_of(user_id)
    if deleted and not left.filter(is_default=True).exists() and (newest := left.first()):
        left.filter(pk=newest.pk).update(is_default=True)
    return bool(deleted)
