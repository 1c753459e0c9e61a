"""What the shop keeps of a person beside Django's user: language and API tokens."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken, AuthTokenManager


class BuyerLanguage(models.Model):
    """The language in which a person last used the shop, for mails. Written by shop/buyer_language.py."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    language = models.CharField(max_length=10)

    class Meta:
        verbose_name = _("buyer's language")
        verbose_name_plural = _("buyers' languages")

    def __str__(self) -> str:
        return self.language


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

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return f"{self.token_key}…"

    def has_current_password(self) -> bool:
        """Whether the user still has the password, also where SECRET_KEY was rotated since."""
        hashes = (self.user.get_session_auth_hash(), *self.user.get_session_auth_fallback_hash())
        return any(constant_time_compare(self.auth_hash, current) for current in hashes)
