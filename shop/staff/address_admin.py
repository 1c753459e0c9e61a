"""A saved delivery address of a customer in the admin, for staff with "change address". The customer's page leads here.

Orders keep the address that they were given; that of an order is changed on the order's page.
"""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget

from shop.addresses.address_checks import ADDRESS_FIELDS, address_errors, tidy_address
from shop.addresses.countries import country_choices
from shop.addresses.country_rules import PLACES
from shop.models import Address, Customer
from shop.staff.admin_base import StaffAdmin


class ShownForm(forms.Form):
    """Refuses a change of what somebody else has changed since the page was shown."""

    compared: Sequence[str]
    shown = forms.CharField(required=False, widget=forms.HiddenInput)
    has_changed_text: str | Promise = gettext_lazy(
        "This has changed since the page was shown. Here it is as it is now; change it again."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["shown"] = repr([self.initial.get(name, "") for name in self.compared])

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        values.pop("shown", None)
        if self.changed_names and self.data.get("shown", self.initial["shown"]) != self.initial["shown"]:
            # The form shows it as it is now.
            self.data = self.initial
            raise ValidationError(str(self.has_changed_text))
        return values

    @property
    def changed_names(self) -> list[str]:
        """The labels of the fields that say something else than before."""
        return [
            str(self.fields[name].label)
            for name in self.compared
            if name in self.cleaned_data and self.cleaned_data[name] != self.initial.get(name, "")
        ]


class StaffAddressForm(ShownForm, forms.ModelForm):  # type: ignore[type-arg]
    """The rules of the buyer's own form, with a plain field for each line. The buyer may correct it meanwhile, too."""

    compared = ADDRESS_FIELDS
    has_changed_text = gettext_lazy(
        "The address has changed since this page was shown. Here it is as it is now; change it again."
    )
    country = forms.ChoiceField(label=gettext_lazy("Country or region"), widget=UnfoldAdminSelectWidget)

    class Meta:
        model = Address
        fields = ADDRESS_FIELDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in (*PLACES, "postcode"):
            # Which of them is needed depends on the country.
            if name in self.fields:
                self.fields[name].required = False
        if isinstance(field := self.fields.get("country"), forms.ChoiceField):
            field.choices = country_choices()

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        tidied = tidy_address({name: values.get(name, "") for name in ADDRESS_FIELDS})
        for name, error in address_errors(tidied).items():
            if name not in self.errors:
                self.add_error(name, error)
        values.update({name: text for name, text in tidied.items() if name not in self.errors})
        return super().clean()


@admin.register(Address)
class AddressAdmin(StaffAdmin):
    form = StaffAddressForm
    actions = []

    def get_fields(self, request: HttpRequest, obj: Address | None = None) -> list[Any]:
        return [*ADDRESS_FIELDS, *(["shown"] if self.has_change_permission(request) else [])]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Address]:
        return of_customers(super().get_queryset(request))

    def locked(self, pks: list[Any]) -> QuerySet[Address]:
        return of_customers(super().locked(pks)).select_for_update(no_key=True, of=("self",))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """There is no list: an address is found by its customer."""
        return redirect("admin:shop_customer_changelist")

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        address = self.get_object(request, object_id)
        return redirect("admin:shop_customer_history", address.user_id) if address else self.changelist_view(request)

    def response_post_save_change(self, request: HttpRequest, obj: Address) -> HttpResponseRedirect:
        return redirect("admin:shop_customer_change", obj.user_id)

    def save_model(self, request: HttpRequest, obj: Address, form: Any, change: bool) -> None:
        """The history of the customer says which fields, and no address, since it is kept for longer."""
        super().save_model(request, obj, form, change)
        if form.changed_names:
            text = _("Delivery address changed: %(fields)s.") % {"fields": _(", ").join(form.changed_names)}
            super().log_change(request, Customer.objects.get(pk=obj.user_id), text)

    def log_change(self, request: HttpRequest, obj: Address, message: Any) -> Any:
        """`save_model` has written it."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Address | None = None) -> bool:
        return request.user.has_perm("auth.view_user") or self.has_change_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Address | None = None) -> bool:
        return request.user.has_perm("shop.change_address")

    def has_delete_permission(self, request: HttpRequest, obj: Address | None = None) -> bool:
        """A customer may delete it in the account."""
        return False


def of_customers(addresses: QuerySet[Address]) -> QuerySet[Address]:
    """Accounts with rights are no business of staff."""
    return addresses.filter(user__is_staff=False, user__is_superuser=False)
