"""A customer in the admin. Staff with "change user" correct what the account says, and can give no rights."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from shop.accounts.address_book import addresses_of
from shop.accounts.person_admin import PersonAdmin, PersonForm
from shop.languages.buyer_language import store_language, stored_language
from shop.models import Customer
from shop.staff.admin_base import StaffAdmin, once_for_each_row
from shop.times.time_range_filter import TimeRangeFilter

EDITABLE = ("email", "first_name", "last_name", "is_active")


class CustomerForm(PersonForm):
    mail_language = forms.ChoiceField(label=_("Language of mails"), required=False, widget=UnfoldAdminSelectWidget)

    class Meta:
        model = Customer
        fields = EDITABLE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields.get("mail_language")
        if isinstance(field, forms.ChoiceField):
            known = stored_language(user_id=self.instance.pk)
            field.choices = settings.LANGUAGES if known else [("", "–"), *settings.LANGUAGES]
            field.initial = known or ""


class CustomerAdmin(PersonAdmin, StaffAdmin):
    """Customers only: an account with rights is found, opened, changed and deleted by superusers alone.

    A row is locked while its form is saved, so that nobody becomes staff between the check and the change.
    """

    form = CustomerForm
    list_display = ["username", "email", "first_name", "last_name", "is_active", "date_joined", "last_login"]
    list_filter = ["is_active", ("date_joined", TimeRangeFilter)]
    list_filter_submit = True
    readonly_fields = ["account_name", "rights", "addresses", *PersonAdmin.readonly_fields]

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        account = [("date_joined", "last_login"), "second_factor", "tokens"]
        if request.user.is_superuser:
            account.append("rights")
        person = ["account_name", "email", ("first_name", "last_name"), "mail_language", "is_active", "addresses"]
        return [(None, {"fields": person}), (_("Account"), {"fields": account})]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return without_rights(super().get_queryset(request))

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Not the password's hash, which a list filtered by it would tell digit by digit."""
        return not lookup.startswith("password") and super().lookup_allowed(lookup, value, request)

    def locked(self, pks: list[Any]) -> QuerySet[User]:
        return without_rights(super().locked(pks))

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if language := form.cleaned_data["mail_language"]:
            store_language(user_id=obj.pk, language=language)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return request.user.has_perm("auth.view_user") or self.has_change_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Customers sign up themselves, and choose their passwords."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return request.user.has_perm("auth.change_user")

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return request.user.has_perm("auth.delete_user")

    @admin.display(description=_("username"))
    def account_name(self, person: User) -> str:
        """Without the help of Django's field, which is about typing it."""
        return person.get_username()

    @admin.display(description=_("Delivery addresses"))
    @once_for_each_row
    def addresses(self, person: User) -> SafeString | str:
        """The default first. Each leads to its page."""
        rows = [(reverse("admin:shop_address_change", args=[row.pk]), row) for row in addresses_of(person.pk)]
        return format_html_join(mark_safe("<br>"), '<a href="{}" class="text-link">{}</a>', rows) or "–"

    @admin.display(description=_("Permissions"))
    def rights(self, person: User) -> SafeString:
        url = reverse("admin:auth_user_change", args=[person.pk])
        return format_html('<a href="{}" class="text-link">{}</a>', url, _("Rights and password"))


def without_rights(people: QuerySet[User]) -> QuerySet[User]:
    return people.filter(is_staff=False, is_superuser=False)
