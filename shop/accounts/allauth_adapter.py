"""The shop's answers to allauth: how a password is checked, how a mail is written, where its links lead."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from shop.accounts import mail_queue
from shop.accounts.known_places import remember_device
from shop.accounts.limits import answered, count_sign_up, may_get_mail
from shop.accounts.mail_texts import account_message
from shop.accounts.sign_in import account_key, check_password, plain_form
from shop.http.client_address import client_address
from shop.languages.language_choice import bring_language
from shop.models.people import lock_account

TO_FORMER_ADDRESS = ("account/email/email_changed", "account/email/email_deleted")


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages = {
        **DefaultAccountAdapter.error_messages,
        # The same for both: the text that was typed may be a name or an address.
        "username_password_mismatch": gettext_lazy("The user name or the password is wrong."),
        "email_password_mismatch": gettext_lazy("The user name or the password is wrong."),
        "incorrect_password": gettext_lazy("The password is wrong."),
        "enter_current_password": gettext_lazy("The password is wrong."),
        "duplicate_email": gettext_lazy("Your account has this address already."),
    }

    def authenticate(self, request: HttpRequest, **credentials: Any) -> AbstractBaseUser | None:
        """For the sign-in page, which is the admin's too, and for the page that asks for the password again.

        allauth gives the typed text as `username`, also where it looks like an address.
        """
        with answered(request):
            return check_password(request, username=credentials["username"], password=credentials["password"])

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        if request.method == "POST":
            count_sign_up(request)
        return True

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Where a new buyer was not on the way to something: the page that says that a mail is waiting."""
        return reverse("account")

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """In plain letters. A name that looks like an address or like another account's name is refused.

        An address could be another person's, and the name would stand before it at sign-in.
        """
        plain = plain_form(username)
        if "@" in plain:
            raise ValidationError(_("Please choose a user name without “@”."))
        name: str = super().clean_username(plain, shallow=shallow)
        if not shallow and User.objects.filter(username__iexact=name.casefold()).exists():
            raise self.validation_error("username_taken")
        return name

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """False where the address was removed meanwhile: saving it would bring it back. Raises AccountEnded."""
        with transaction.atomic():
            lock_account(email_address.user_id)
            is_there = EmailAddress.objects.filter(pk=email_address.pk).exists()
            return is_there and bool(super().confirm_email(request, email_address))

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **more: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **more)
        bring_language(response, request, user_id=user.pk)
        remember_device(response, request, account=account_key(user.get_username()))
        return response

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        if may_get_mail(email, user=context.get("user"), is_former=template_prefix in TO_FORMER_ADDRESS):
            mail_queue.queue(account_message(template_prefix, to=email, facts={"email": email, **context}))

    def send_notification_mail(
        self,
        template_prefix: str,
        user: AbstractBaseUser,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """A removed address is told of its removal, if the account has no other now."""
        if template_prefix == "account/email/email_deleted" and context is not None:
            if EmailAddress.objects.get_primary_email(user):
                return
            email = context["deleted_email"]
        super().send_notification_mail(template_prefix, user, {"user": user, **(context or {})}, email)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """Not with the host of the request, which the sender of the request chooses."""
        return settings.SHOP_URL + reverse("account_confirm_email", args=[emailconfirmation.key])

    def get_reset_password_from_key_url(self, key: str) -> str:
        user_id, _dash, secret = key.partition("-")
        return settings.SHOP_URL + reverse("account_reset_password_from_key", args=[user_id, secret])

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")
