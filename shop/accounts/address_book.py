"""A person's saved addresses: how many, which one is the default, and who may touch them."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from shop.models import Address

# More than one person sends parcels to. The list stays short enough to choose from.
ADDRESSES_MAX = 20


class AddressBookFull(Exception):
    """The person has ADDRESSES_MAX addresses already."""


def addresses_of(user_id: int) -> QuerySet[Address]:
    """The default first, then the newest."""
    return Address.objects.filter(user_id=user_id)


@transaction.atomic
def save_address(address: Address) -> None:
    """Save a new or changed address. The only one is the default, and a new default replaces the former one.

    Raises AddressBookFull.
    """
    _one_at_a_time(address.user_id)
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
    """Whether there was one. After the default, the newest becomes the default."""
    _one_at_a_time(user_id)
    deleted, _rows = addresses_of(user_id).filter(pk=address_id).delete()
    left = addresses_of(user_id)
    if deleted and not left.filter(is_default=True).exists() and (newest := left.first()):
        left.filter(pk=newest.pk).update(is_default=True)
    return bool(deleted)


def _one_at_a_time(user_id: int) -> None:
    """Two forms sent at the same moment would each see room for one more, or make a default each."""
    User.objects.select_for_update(no_key=True).get(pk=user_id)
