"""The mails that allauth sends, in the shop's words. Each in the language of the page on which it was asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from shop.accounts.browser_names import browser_name
from shop.mails.outgoing_mail import subject_line
from shop.times.zone import named_time

# The facts that allauth gives for a mail, for example `email` and `password_reset_url`.
Facts = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AccountMailText:
    """Subject, greeting and sentences; then, where there is one, the button; then what to do if it was not you."""

    subject: str
    name: str = ""
    sentences: list[str]
    button: str = ""
    url: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    if_not_you: str = ""


def account_message(template_prefix: str, *, to: str, facts: Facts) -> EmailMultiAlternatives:
    """The mail for which allauth has a template of this name."""
    return message_from(MAIL_TEXTS[template_prefix](facts), to=to)


def message_from(text: AccountMailText, *, to: str) -> EmailMultiAlternatives:
    """The mail with this text, in the language that is active."""
    context = {
        "text": text,
        "language": translation.get_language(),
        "shop_name": settings.SHOP_NAME,
        "shop_url": settings.SHOP_URL,
    }
    message = EmailMultiAlternatives(
        subject=subject_line(text.subject),
        body=render_to_string("account/mail/message.txt", context).strip() + "\n",
        to=[to],
    )
    message.attach_alternative(render_to_string("account/mail/message.html", context), "text/html")
    return message


def confirm_address(facts: Facts) -> AccountMailText:
    return AccountMailText(
        subject=_("Please confirm your e-mail address"),
        name=facts["user"].get_username(),
        sentences=[
            _("Please confirm that this address belongs to your account “%(name)s”.")
            % {"name": facts["user"].get_username()},
            _("After that you can sign in with it, and get a new password if you forget yours."),
        ],
        button=_("Confirm this address"),
        url=facts["activate_url"],
        if_not_you=_("If you did not give us this address, you need not do anything."),
    )


def welcome(facts: Facts) -> AccountMailText:
    text = confirm_address(facts)
    return replace(
        text,
        subject=_("Welcome to %(shop)s: please confirm your e-mail address") % {"shop": settings.SHOP_NAME},
        sentences=[_("Welcome! Your account “%(name)s” is ready.") % {"name": text.name}, *text.sentences],
    )


def new_password(facts: Facts) -> AccountMailText:
    name = facts["user"].get_username()
    return AccountMailText(
        subject=_("Choose a new password"),
        name=name,
        sentences=[
            _("Somebody, most likely you, asked for a new password for your account “%(name)s”.") % {"name": name},
            _("The link works once, for three days."),
        ],
        button=_("Choose a new password"),
        url=facts["password_reset_url"],
        if_not_you=_("If it was not you, you need not do anything: your password stays as it is."),
    )


def no_account(facts: Facts) -> AccountMailText:
    return AccountMailText(
        subject=_("There is no account with this address"),
        sentences=[
            _("Somebody, most likely you, asked for a new password for %(email)s.") % {"email": facts["email"]},
            _("There is no account with this address. Perhaps you signed up with another one?"),
        ],
        button=_("Create an account"),
        url=settings.SHOP_URL + reverse("account_signup"),
        if_not_you=_("If it was not you, you need not do anything."),
    )


def account_exists(facts: Facts) -> AccountMailText:
    return AccountMailText(
        subject=_("You already have an account"),
        sentences=[
            _("Somebody, most likely you, tried to make an account with %(email)s. You already have one.")
            % {"email": facts["email"]},
        ],
        button=_("Choose a new password"),
        url=settings.SHOP_URL + reverse("account_reset_password"),
        if_not_you=_("If it was not you, you need not do anything."),
    )


def password_changed(facts: Facts) -> AccountMailText:
    return change(facts, _("Your password was changed"), _("The password of your account was changed."))


def address_changed(facts: Facts) -> AccountMailText:
    sentence = _("The e-mail address of your account was changed from %(former)s to %(current)s.")
    addresses = {"former": facts["from_email"], "current": facts["to_email"]}
    return change(facts, _("Your e-mail address was changed"), sentence % addresses)


def address_changed_by_staff(facts: Facts) -> AccountMailText:
    """To the former address. The new one is not in it: the former may be another person's, by a typing error."""
    sentence = _("Our staff changed the e-mail address of your account. We will not write to %(email)s any more.")
    return AccountMailText(
        subject=_("Your e-mail address was changed"),
        sentences=[sentence % {"email": facts["former"]}],
        facts=[(_("When"), named_time(facts["timestamp"]))],
        if_not_you=_("If you did not ask for this, please contact us now."),
    )


def address_confirmed(facts: Facts) -> AccountMailText:
    return change(facts, _("Your e-mail address is confirmed"), _("The e-mail address of your account was confirmed."))


def address_removed(facts: Facts) -> AccountMailText:
    sentence = _("The address %(email)s was removed from your account. We will not e-mail you any more.")
    return change(facts, _("Your e-mail address was removed"), sentence % {"email": facts["deleted_email"]})


def second_factor_on(facts: Facts) -> AccountMailText:
    sentence = _("To sign in, your account now needs a code from your authenticator app as well.")
    return change(facts, _("Two-step sign-in is on"), sentence)


def second_factor_off(facts: Facts) -> AccountMailText:
    sentence = _("Your account no longer needs a code to sign in. The password is enough.")
    return change(facts, _("Two-step sign-in is off"), sentence)


def new_recovery_codes(facts: Facts) -> AccountMailText:
    sentence = _("New recovery codes were made for your account. The former ones no longer work.")
    return change(facts, _("New recovery codes"), sentence)


def change(facts: Facts, subject: str, sentence: str) -> AccountMailText:
    """A mail about a change, so that the owner hears of one that another person made."""
    return AccountMailText(
        subject=subject,
        sentences=[sentence],
        facts=[
            (_("When"), named_time(facts["timestamp"])),
            (_("IP address"), facts["ip"]),
            (_("Browser"), browser_name(facts["user_agent"])),
        ],
        button=_("Your account"),
        url=settings.SHOP_URL + reverse("account"),
        if_not_you=_("If it was not you, choose a new password now and end the other sessions of your account."),
    )


CHANGED_BY_STAFF = "changed_by_staff"

# By the names of allauth's templates, and one mail of the shop's own. The shop has no sign-in codes, no security keys
# and no accounts of other sites.
MAIL_TEXTS: dict[str, Callable[[Facts], AccountMailText]] = {
    "account/email/email_confirmation": confirm_address,
    "account/email/email_confirmation_signup": welcome,
    "account/email/password_reset_key": new_password,
    "account/email/unknown_account": no_account,
    "account/email/account_already_exists": account_exists,
    "account/email/password_changed": password_changed,
    "account/email/password_reset": password_changed,
    "account/email/password_set": password_changed,
    "account/email/email_changed": address_changed,
    CHANGED_BY_STAFF: address_changed_by_staff,
    "account/email/email_confirm": address_confirmed,
    "account/email/email_deleted": address_removed,
    "mfa/email/totp_activated": second_factor_on,
    "mfa/email/totp_deactivated": second_factor_off,
    "mfa/email/recovery_codes_generated": new_recovery_codes,
}
