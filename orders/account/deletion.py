"""The end of an account. Its orders are kept, since the shop must account for them; the person is removed from them."""

from typing import Any
from uuid import uuid4

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q, QuerySet

from orders.account.person_data import confirmed_addresses
from orders.idempotent_calls import forget_calls_of
from orders.invoices.writing import write_if_missing
from orders.mails.sending import NO_ADDRESS
from orders.models import (
    Attention,
    Cart,
    LineMail,
    Mail,
    Order,
    OrderNote,
    OrderStatus,
    Payment,
    Refund,
    Served,
    ShippingAddress,
)
from orders.models.order import LACKS_INVOICE
from orders.reminders.subscribing import reminders_of_person
from seckill.draw.entering import withdraw
from seckill.models import DrawEntry
from shop.accounts.session_store import SessionStore
from shop.models import AccountMail, Address, ApiToken, BuyerLanguage, Customer

# These orders do not change any more by themselves.
FINISHED = (
    OrderStatus.COMPLETED,
    OrderStatus.EXPIRED,
    OrderStatus.CANCELLED,
    OrderStatus.REJECTED,
    OrderStatus.REFUNDED,
)
# Money that the shop may still have to give back. A failed or pending payment may be one that nobody ever makes, unless
# the payment company says that it has the money.
MONEY_OPEN = (
    Q(payments__status=Payment.Status.REFUND_DUE)
    | Q(refunds__status=Refund.Status.DUE)
    | Q(payments__status=Payment.Status.PENDING, payments__found_paid_at__isnull=False, payments__closed_at=None)
    | Q(attention=Attention.PAYMENT_UNREPORTED)
)


class NotNow(Exception):
    """The account cannot be deleted while `orders` are open."""

    def __init__(self, orders: list[Order]) -> None:
        super().__init__([order.shown_code for order in orders])
        self.orders = orders


def open_orders(user_id: int) -> QuerySet[Order]:
    """The person's orders that are not finished: to be paid, to be sent, on their way, or to be refunded."""
    undecided = Q(status=OrderStatus.EXPIRED, payments__status=Payment.Status.CAPTURED)
    unfinished = ~Q(status__in=FINISHED) | MONEY_OPEN | undecided
    return Order.objects.filter(unfinished, buyer_id=user_id).distinct()


def delete_account(user_id: int) -> None:
    """Remove the person from the account and from its orders, and end all sessions and tokens. Idempotent.

    The row of the user stays, under a random name, because orders belong to it. Raises NotNow.
    """
    with transaction.atomic():
        # No order can be added to the account while its row is locked: checkout and intake lock it first.
        user = User.objects.select_for_update().get(pk=user_id)
        waiting = list(open_orders(user_id))
        if waiting:
            raise NotNow(waiting)
        session_keys = list(UserSession.objects.filter(user=user).values_list("session_key", flat=True))
        remove_belongings(user)
        remove_person_from_orders(user)
        anonymise(user)
        # The commit alone signs the person out everywhere, since the account is no longer active. So sessions that
        # remain because the cache server is away open nothing.
        transaction.on_commit(lambda: end_sessions(session_keys), robust=True)


def remove_belongings(user: User) -> None:
    emails = confirmed_addresses(user)
    AccountMail.objects.filter(to__in=emails).delete()
    reminders_of_person(user.pk, emails=emails).delete()
    for model in (Address, ApiToken, BuyerLanguage, EmailAddress, Authenticator, UserSession):
        rows: QuerySet[Any] = model.objects.filter(user=user)
        rows.delete()
    Cart.objects.filter(buyer=user).delete()
    LineMail.objects.filter(buyer=user).delete()
    # Those of a closed draw stay: its published list has them, under ids that name nobody.
    for entry in DrawEntry.objects.filter(buyer=user, place=None).select_related("item"):
        withdraw(item=entry.item, buyer_id=user.pk)


def remove_person_from_orders(user: User) -> None:
    """Keep what the person has bought, and remove the buyer's note and those of the staff, which may say anything.

    Invoices stay as they are, with name and address: the law wants a shop to keep them.
    Answers that are kept for repeated calls have addresses, and errors of mail servers may name one, so both go too.
    """
    orders = Order.objects.filter(buyer=user)
    for order_id in orders.filter(LACKS_INVOICE).values_list("pk", flat=True):
        # An invoice of an older release, which would name nobody later.
        write_if_missing(order_id=order_id)
    ShippingAddress.objects.filter(order__buyer=user).delete()
    Served.objects.filter(order__buyer=user).delete()
    OrderNote.objects.filter(order__buyer=user).delete()
    orders.update(email="", language="", buyer_note="", staff_note="", billing_address="", vat_number="")
    Mail.objects.filter(order__buyer=user, sent_at=None).exclude(last_error="").update(last_error=NO_ADDRESS)
    forget_calls_of(buyer_id=user.pk)


def anonymise(user: User) -> None:
    user.username = f"deleted-{uuid4().hex}"
    user.first_name = user.last_name = user.email = ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.last_login = None
    user.set_unusable_password()
    user.save()
    user.groups.clear()
    user.user_permissions.clear()
    # Entries about the account are kept, and name it as it is called now.
    types = ContentType.objects.get_for_models(User, Customer, for_concrete_models=False).values()
    entries = LogEntry.objects.filter(content_type__in=types, object_id=str(user.pk))
    entries.update(object_repr=user.username)


def end_sessions(keys: list[str]) -> None:
    for key in keys:
        SessionStore().delete(key)
