"""A person's copy of all that the shop keeps about them, which programs can read too.

Secrets are left out: the password's hash, tokens, the keys of sessions and of the second factor.
"""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.utils import timezone

from orders.models import (
    CartLine,
    LineMail,
    Order,
    RecordedPayment,
    RefusedReceipt,
    Reminder,
    ShippingAddress,
    with_lines,
)
from orders.reminders.reminder_target import target_of
from orders.reminders.subscribing import reminders_of_person
from seckill.models import DrawEntry
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.languages.buyer_language import stored_language
from shop.models import AccountMail, Address, ApiToken
from shop.prices.money import to_text


def person_data(user: User) -> dict[str, Any]:
    """Times are in UTC, amounts are decimal strings."""
    return {
        "made_at": timezone.now(),
        "account": account(user),
        "addresses": [
            {**model_to_dict(address, ADDRESS_FIELDS), "is_default": address.is_default}
            for address in Address.objects.filter(user=user)
        ],
        "orders": [order_data(order) for order in orders_of(user)],
        "lost_reservations": list(
            RefusedReceipt.objects.filter(buyer=user).values(
                "reservation_id", "units", "price_minor", "currency", "refused_at"
            )
        ),
        "draw_entries": [
            {
                "item": entry.item_id,
                "units": entry.units,
                "entry": entry.entry_id,
                "entered_at": entry.entered_at,
                "result": entry.status,
                "place": entry.place,
            }
            for entry in DrawEntry.objects.filter(buyer=user).order_by("pk")
        ],
        "cart": [
            {"product": str(line.variant), "units": line.units}
            for line in CartLine.objects.filter(cart__buyer=user).select_related("variant__product")
        ],
        "api_tokens": [
            {"begins_with": token.token_key, "made_at": token.created, "ends_at": token.expiry}
            for token in ApiToken.objects.filter(user=user).order_by("created")
        ],
        "sessions": [
            {"signed_in_at": session.created_at, "ip_address": session.ip, "browser": session.user_agent}
            for session in UserSession.objects.filter(user=user).order_by("created_at")
        ],
        "reminders": [reminder_data(row) for row in reminders_of_person(user.pk, emails=confirmed_addresses(user))],
        "mails_without_order": [
            {"about": str(mail.item), "made_at": mail.created_at, "sent_at": mail.sent_at}
            for mail in LineMail.objects.filter(buyer=user).select_related("item__sale", "item__variant__product")
        ],
        "account_mails_not_sent_yet": list(
            AccountMail.objects.filter(to__in=confirmed_addresses(user)).values("to", "subject", "created_at")
        ),
    }


def account(user: User) -> dict[str, Any]:
    return {
        "user_name": user.get_username(),
        "first_name": user.first_name,
        "last_name": user.last_name,
        "email": user.email,
        "email_addresses": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "language": stored_language(user_id=user.pk),
        "joined_at": user.date_joined,
        "last_signed_in_at": user.last_login,
        "second_factor": list(
            Authenticator.objects.filter(user=user).values("type", "created_at", "last_used_at").order_by("pk")
        ),
    }


def reminder_data(row: Reminder) -> dict[str, Any]:
    about = target_of(row).name
    return {"about": about, "email": row.email, "asked_at": row.created_at, "confirmed_at": row.confirmed_at}


def orders_of(user: User) -> QuerySet[Order]:
    return (
        Order.objects.filter(buyer=user)
        .select_related("shipping_address", "recorded_payment")
        .prefetch_related(with_lines(), "payments", "refunds__payment", "documents", "mails", "notes")
    )


def order_data(order: Order) -> dict[str, Any]:
    def amount(minor: int) -> str:
        return to_text(minor=minor, currency=order.currency)

    address: ShippingAddress | None = getattr(order, "shipping_address", None)
    recorded: RecordedPayment | None = getattr(order, "recorded_payment", None)
    return {
        "number": order.number,
        "short_number": order.code,
        "status": order.status,
        "amount": amount(order.amount_minor),
        "shipping": amount(order.shipping_minor),
        "currency": order.currency,
        "made_at": order.created_at,
        "to_be_paid_by": order.expires_at,
        "paid_or_ended_at": order.ended_at,
        "shipped_at": order.shipped_at,
        "carrier": order.carrier,
        "tracking_number": order.tracking_number,
        "email": order.email,
        "language": order.language,
        "note": order.buyer_note,
        "notes_of_staff": [{"text": note.text, "made_at": note.made_at} for note in order.notes.all()],
        "older_note_of_staff": order.staff_note,
        "shipping_address": model_to_dict(address, ADDRESS_FIELDS) if address else None,
        "lines": [
            {"product": line.title, "units": line.units, "unit_price": amount(line.unit_price_minor)}
            for line in order.lines.all()
        ],
        "payments": [
            {
                "provider": payment.provider,
                "reference": payment.provider_reference,
                "status": payment.status,
                "amount": to_text(minor=payment.amount_minor, currency=payment.currency),
                "currency": payment.currency,
                "made_at": payment.created_at,
                "captured_at": payment.captured_at,
            }
            for payment in order.payments.all()
        ],
        "payment_without_provider": {
            "reference": recorded.reference,
            "amount": amount(recorded.amount_minor),
            "recorded_at": recorded.recorded_at,
        }
        if recorded
        else None,
        "refunds": [
            {
                "amount": to_text(minor=refund.amount_minor, currency=refund.currency),
                "status": refund.status,
                "made_at": refund.created_at,
            }
            for refund in order.refunds.all()
        ],
        "billing_address": order.billing_address,
        "vat_number": order.vat_number,
        "invoices": [
            {"number": document.shown_number, "kind": document.kind, "buyer": document.contents["buyer"]}
            for document in order.documents.all()
        ],
        "mails": [{"kind": mail.kind, "sent_at": mail.sent_at} for mail in order.mails.all()],
    }


def confirmed_addresses(user: User) -> set[str]:
    """An address that is not confirmed may be another person's, whose mails and reminders these would be."""
    return set(EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True))
