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
from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from shop.accounts.limits import count_password_reset

# Any number of accounts can have an address that none of them has confirmed. So many of them get a mail.
ACCOUNTS_PER_RESET_MAX = 3


def label(form: forms.BaseForm, **labels: Any) -> None:
    for name, text in labels.items():
        form.fields[name].label = text


class SignInForm(LoginForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, login=_("User name or e-mail address"), remember=_("Keep me signed in on this device"))
        self.fields["login"].widget.attrs.update({"autocomplete": "username", "autocapitalize": "none"})
        # The page has the link once, under the button.
        self.fields["password"].help_text = ""


class SignUpForm(SignupForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, username=_("User name"), email=_("E-mail address"), password2=_("Password again"))
        self.fields["username"].widget.attrs["autocapitalize"] = "none"
        self.fields["email"].help_text = _("For mails about your orders, and for a new password if you forget yours.")


class PasswordResetForm(ResetPasswordForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, email=_("E-mail address"))

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Raises ImmediateHttpResponse with 429 before a mail is written."""
        count_password_reset(request, mailbox=self.cleaned_data["email"])
        # Those that were used last, then the newest.
        self.users.sort(key=lambda user: (bool(user.last_login), user.last_login, user.pk), reverse=True)
        del self.users[ACCOUNTS_PER_RESET_MAX:]
        email: str = super().save(request, **kwargs)
        return email


class NewPasswordForm(ResetPasswordKeyForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, password1=_("New password"), password2=_("New password again"))


class FirstPasswordForm(SetPasswordForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, password1=_("New password"), password2=_("New password again"))


class PasswordChangeForm(ChangePasswordForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(
            self,
            oldpassword=_("Current password"),
            password1=_("New password"),
            password2=_("New password again"),
        )
        self.fields["oldpassword"].help_text = ""


class PasswordAgainForm(ReauthenticateForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, password=_("Password"))
        self.fields["password"].help_text = ""


class NewAddressForm(AddEmailForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, email=_("New e-mail address"))
