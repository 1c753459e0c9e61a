"""A person in the admin: what the pages of customers and of staff accounts have in common."""

from collections.abc import Set
from typing import Any

import structlog
from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from shop.accounts import mail_queue
from shop.accounts.mail_texts import CHANGED_BY_STAFF, account_message
from shop.http.client_address import client_address
from shop.languages.buyer_language import language_of, stored_language
from shop.models import ApiToken
from shop.staff.admin_base import ModelAdmin, once_for_each_row

log = structlog.get_logger(__name__)

# The fields of a person or a group that decide what somebody may do.
RIGHTS = frozenset({"is_active", "is_staff", "is_superuser", "groups", "user_permissions", "permissions"})


def log_rights(request: HttpRequest, *, changed: Set[str], **whose: int) -> None:
    if changed:
        address = client_address(request)
        log.warning("rights_changed", by=request.user.pk, fields=sorted(changed), address=address, **whose)


class PersonForm(forms.ModelForm):  # type: ignore[type-arg]
    """Saves what was changed on the page, and leaves what the person or a colleague has changed since it was shown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            # The page has a hidden field with what it shows. A form that comes without it is saved as it is.
            field.show_hidden_initial = not self.is_bound or self.add_initial_prefix(name) in self.data

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        for name in values.keys() - set(self.changed_data):
            values[name] = self.get_initial_for_field(self.fields[name], name)
        return values


class PersonAdmin(ModelAdmin):
    list_filter_sheet = False
    ordering = ["-pk"]
    search_fields = ["username", "first_name", "last_name", "email"]
    search_help_text = _("User name, mail address or name")
    readonly_fields = ["second_factor", "tokens", "date_joined", "last_login"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        people: QuerySet[User] = super().get_queryset(request)
        # The hash is not shown.
        return people.defer("password")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "email" in form.changed_data:
            follow_staff(person=obj, former=form.initial.get("email") or "")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        log_rights(request, changed=RIGHTS.intersection(form.changed_data), person=form.instance.pk)

    @admin.display(description=_("language of mails"))
    @once_for_each_row
    def mail_language(self, person: User) -> str:
        return dict(settings.LANGUAGES).get(stored_language(user_id=person.pk) or "", "–")

    @admin.display(description=_("Two-step sign-in"), boolean=True)
    @once_for_each_row
    def second_factor(self, person: User) -> bool:
        return bool(is_mfa_enabled(person))

    @admin.display(description=_("API tokens"))
    @once_for_each_row
    def tokens(self, person: User) -> int:
        valid: int = ApiToken.objects.filter(user=person, expiry__gt=timezone.now()).count()
        return valid


def follow_staff(*, person: User, former: str) -> None:
    """Make allauth's table of addresses agree with `person.email`. Former addresses go, and sign in no more.

    The new one is not confirmed, since only staff have typed it. One that was confirmed before stays so, as where staff
    only write it in small letters. The former address is told, so that its owner hears of a change by mistake.
    """
    email = person.email.lower()
    with transaction.atomic():
        EmailAddress.objects.filter(user=person).exclude(email=email).delete()
        if email:
            EmailAddress.objects.update_or_create(user=person, email=email, defaults={"primary": True})
        if former and former.lower() != email:
            facts = {"former": former, "timestamp": timezone.now()}
            with translation.override(language_of(user_id=person.pk)):
                mail_queue.queue(account_message(CHANGED_BY_STAFF, to=former, facts=facts))
