"""Rows about a person beside Django's user: language, addresses, API tokens, mails to be sent."""

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken, AuthTokenManager

from shop.addresses.address_layout import address_lines


class AccountEnded(PermissionDenied):
    """The account was deleted, or staff have blocked it."""


def lock_account(user_id: int) -> None:
    """Let calls that add something to an account come one after the other, until the transaction ends.

    Raises AccountEnded: a call that waited while the account was deleted must leave nothing of the person behind.
    """
    if not User.objects.select_for_update(no_key=True).filter(pk=user_id, is_active=True):
        raise AccountEnded


class BuyerLanguage(models.Model):
    """The language in which a person last used the shop, for mails. Written by shop/languages/buyer_language.py."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    language = models.CharField(max_length=10)

    class Meta:
        verbose_name = _("buyer's language")
        verbose_name_plural = _("buyers' languages")

    def __str__(self) -> str:
        return self.language


class Address(models.Model):
    """Where a person wants their orders sent. At most one of a person's addresses is the default."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="addresses", db_index=False)
    name = models.CharField(_("full name"), max_length=100)
    line1 = models.CharField(_("street and number"), max_length=200)
    line2 = models.CharField(_("flat, building, company"), max_length=200, blank=True)
    district = models.CharField(_("district"), max_length=100, blank=True, default="", db_default="")
    city = models.CharField(_("city"), max_length=100)
    region = models.CharField(_("province or state"), max_length=100, blank=True)
    postcode = models.CharField(_("postcode"), max_length=20)
    # ISO 3166, two capital letters. Names come from Babel (shop/addresses/countries.py).
    country = models.CharField(_("country"), max_length=2)
    phone = models.CharField(_("phone"), max_length=30, blank=True)
    is_default = models.BooleanField(_("use this address first"), default=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("address")
        verbose_name_plural = _("addresses")
        ordering = ["-is_default", "-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["user"], name="shop_address_one_default", condition=models.Q(is_default=True)
            ),
            models.CheckConstraint(name="shop_address_country", condition=models.Q(country__regex=r"^[A-Z]{2}$")),
        ]
        indexes = [models.Index(fields=["user", "-created_at"], name="shop_address_of_user")]

    def __str__(self) -> str:
        return _(", ").join(self.lines)

    @property
    def lines(self) -> list[str]:
        """As on a parcel."""
        return address_lines(vars(self))


class AccountMail(models.Model):
    """A mail about an account that is not sent yet (shop/accounts/mail_queue.py). Its link opens the account."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    to = models.EmailField(max_length=254)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    html = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("account mail")
        verbose_name_plural = _("account mails")

    def __str__(self) -> str:
        return str(self.uid)


class ApiTokenManager(AuthTokenManager):  # type: ignore[misc]
    def create(self, user: User, **fields: Any) -> "tuple[ApiToken, str]":
        """The row, and the token itself, which is not stored."""
        row, token = super().create(user, auth_hash=user.get_session_auth_hash(), **fields)
        return row, token


class ApiToken(AbstractAuthToken):  # type: ignore[misc]
    """A bearer token of the API. It ends with the password that it was given for, however that was changed."""

    # As in Django's sessions: an HMAC of the user's password hash.
    auth_hash = models.CharField(max_length=64)

    objects = ApiTokenManager()
    # For the type checker, which does not see through knox's manager.
    _default_manager: ClassVar[models.Manager[Any]]

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return f"{self.token_key}…"

    def has_current_password(self) -> bool:
        """Whether the user still has the password, also where SECRET_KEY was rotated since."""
        hashes = (self.user.get_session_auth_hash(), *self.user.get_session_auth_fallback_hash())
        return any(constant_time_compare(self.auth_hash, current) for current in hashes)


class Customer(User):
    """An account without rights in the admin, with a page of its own there (shop/accounts/customer_admin.py)."""

    class Meta:
        proxy = True
        # Those of the account itself: "view user", "change user", "delete user".
        default_permissions = ()
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
