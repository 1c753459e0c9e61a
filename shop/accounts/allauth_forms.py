"""allauth's forms in the shop's words."""

from typing import Any

from allauth.account.forms import (
    AddEmailForm,
    ChangePasswordForm,
    LoginForm,
    ReauthenticateForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
    SignupForm,
)
from allauth.account.models import EmailAddress
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from shop.accounts.limits import count_password_reset
from shop.models.people import lock_account

# Any number of accounts can have an address that none of them has confirmed. So many of them get a mail.
ACCOUNTS_PER_RESET_MAX = 3


class Worded:
    """Before a form of allauth. `labels` are by field; the fields in `without_help` have a text of allauth's there."""

    labels: dict[str, Any]
    without_help: tuple[str, ...] = ()
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, text in self.labels.items():
            self.fields[name].label = text
        for name in self.without_help:
            self.fields[name].help_text = ""


class SignInForm(Worded, LoginForm):  # type: ignore[misc]
    labels = {"login": _("User name or e-mail address"), "remember": _("Keep me signed in on this device")}
    # The page has the link for a forgotten password once, under the button.
    without_help = ("password",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs.update({"autocomplete": "username", "autocapitalize": "none"})


class SignUpForm(Worded, SignupForm):  # type: ignore[misc]
    labels = {"username": _("User name"), "email": _("E-mail address"), "password2": _("Password again")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget.attrs["autocapitalize"] = "none"
        self.fields["email"].help_text = _("For mails about your orders, and for a new password if you forget yours.")


class PasswordResetForm(Worded, ResetPasswordForm):  # type: ignore[misc]
    labels = {"email": _("E-mail address")}

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Raises ImmediateHttpResponse with 429 before a mail is written."""
        count_password_reset(request, mailbox=self.cleaned_data["email"])
        # Those that were used last, then the newest.
        self.users.sort(key=lambda user: (bool(user.last_login), user.last_login, user.pk), reverse=True)
        del self.users[ACCOUNTS_PER_RESET_MAX:]
        email: str = super().save(request, **kwargs)
        return email


NEW_PASSWORD = {"password1": _("New password"), "password2": _("New password again")}


class NewPasswordForm(Worded, ResetPasswordKeyForm):  # type: ignore[misc]
    labels = NEW_PASSWORD


class FirstPasswordForm(Worded, SetPasswordForm):  # type: ignore[misc]
    labels = NEW_PASSWORD


class PasswordChangeForm(Worded, ChangePasswordForm):  # type: ignore[misc]
    labels = {"oldpassword": _("Current password"), **NEW_PASSWORD}
    without_help = ("oldpassword",)


class PasswordAgainForm(Worded, ReauthenticateForm):  # type: ignore[misc]
    labels = {"password": _("Password")}
    without_help = ("password",)


class NewAddressForm(Worded, AddEmailForm):  # type: ignore[misc]
    labels = {"email": _("New e-mail address")}

    def save(self, request: HttpRequest) -> EmailAddress:
        """While none is confirmed, mails go to the address that was typed last, as at sign-up. Raises AccountEnded."""
        with transaction.atomic():
            lock_account(self.user.pk)
            address: EmailAddress = super().save(request)
            if not EmailAddress.objects.filter(user=self.user, verified=True).exists():
                address.set_as_primary()
        return address
