"""What staff add to an order and correct of it: notes, delivery address, mail address of a guest, tracking number.

The order's history says who did so and what was changed, and no address, since it is kept for longer. No correction
changes whose order it is: an account's address is corrected on the customer's page, and a guest's order stays one.
"""

from typing import Any, cast
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextInputWidget

from orders.checkout.guest_bounds import mailbox_mark
from orders.life import lifecycle
from orders.models import Order, OrderNote, ShippingAddress, with_lines
from orders.shipping.address_texts import address_kept_text
from orders.shipping.order_address import CHANGEABLE, address_of, as_initial, only_country, store_address
from orders.shipping.shipping_prices import countries_sent_to
from orders.staff.order_actions import OrderActions
from orders.staff.order_forms import NoteForm, TrackingForm, tracking_text
from orders.staff.read_only_admin import page_of
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.addresses.countries import country_choices
from shop.staff.address_admin import ShownForm, StaffAddressForm


class OrderAddressForm(StaffAddressForm):
    """Only countries to which the delivery was paid for, or else to which the shop sends."""

    class Meta:
        model = ShippingAddress
        fields = ADDRESS_FIELDS

    def __init__(self, order: Order, data: Any = None) -> None:
        address = address_of(order)
        super().__init__(data, initial=as_initial(address))
        for field in self.fields.values():
            if isinstance(field.widget, forms.TextInput):
                field.widget = UnfoldAdminTextInputWidget(attrs={**field.widget.attrs, "autocomplete": "off"})
        paid_for = only_country(order)
        allowed = frozenset({paid_for}) if paid_for else countries_sent_to()
        country = cast(forms.ChoiceField, self.fields["country"])
        names = [(code, name) for code, name in country_choices() if allowed is None or code in allowed]
        country.choices = [("", "–"), *names]


class TrackingCorrection(ShownForm, TrackingForm):
    compared = ("carrier", "tracking_number")


class EmailForm(ShownForm):
    compared = ("email",)
    email = forms.EmailField(
        label=gettext_lazy("Mail address"),
        max_length=Order._meta.get_field("email").max_length,
        help_text=gettext_lazy("The order stays a guest's. Mails that were sent before can be sent again afterwards."),
        widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "off"}),
    )


class OrderCorrections(OrderActions):
    """The pages behind the buttons that correct an order, each for whom the button is shown."""

    def get_urls(self) -> list[URLPattern]:
        staff_only = self.admin_site.admin_view
        return [
            path("<int:order_id>/tracking/", staff_only(self.tracking_view), name="orders_order_tracking"),
            path("<int:order_id>/notes/", staff_only(self.notes_view), name="orders_order_notes"),
            path("<int:order_id>/address/", staff_only(self.address_view), name="orders_order_address"),
            path("<int:order_id>/email/", staff_only(self.email_view), name="orders_order_email"),
            *super().get_urls(),
        ]

    def order_to_change(
        self, request: HttpRequest, order_id: int, *, ships: bool = False, locked: bool = False
    ) -> Order:
        if not (self.has_ship_permission(request) if ships else self.has_manage_permission(request)):
            raise PermissionDenied
        orders = Order.objects.select_related("buyer").prefetch_related(with_lines())
        return get_object_or_404(orders.select_for_update(of=("self",)) if locked else orders, pk=order_id)

    @transaction.atomic
    def tracking_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        order = self.order_to_change(request, order_id, ships=True, locked=request.method == "POST")
        if order.shipped_at is None:
            raise Http404
        initial = {"carrier": order.carrier, "tracking_number": order.tracking_number}
        form = TrackingCorrection(request.POST if request.method == "POST" else None, initial=initial)
        if not form.is_valid():
            return self.ask_with_form(request, order, form, title=_("Tracking number"))
        lifecycle.correct_tracking(order_id=order.pk, **form.cleaned_data)
        self.log_change(request, order, tracking_text(form.cleaned_data) or _("Tracking number removed."))
        self.message_user(request, _("The tracking number is saved."), messages.SUCCESS)
        return redirect(page_of(order))

    def notes_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """Add a note, for packers too. A form that is sent twice adds one."""
        order = self.order_to_change(request, order_id, ships=True)
        form = NoteForm(request.POST if request.method == "POST" else None, initial={"note_id": uuid4()})
        if not form.is_valid():
            return self.ask_with_form(request, order, form, title=_("Add a note"))
        note = {"order": order, "text": form.cleaned_data["text"], "made_by": cast(User, request.user)}
        OrderNote.objects.get_or_create(pk=form.cleaned_data["note_id"], defaults=note)
        self.message_user(request, _("The note is saved."), messages.SUCCESS)
        return redirect(page_of(order))

    @transaction.atomic
    def address_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        """Correct where the order goes, until it was sent.

        Locked on the way: the buyer may choose another country right now, and somebody else send the parcel.
        """
        order = self.order_to_change(request, order_id, locked=request.method == "POST")
        if order.status not in CHANGEABLE:
            said = _("The address can no longer be changed: the order has been sent, or it has ended.")
            self.message_user(request, said, messages.WARNING)
            return redirect(page_of(order))
        form = OrderAddressForm(order, request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self.ask_with_form(request, order, form, title=_("Delivery address"))
        if names := form.changed_names:
            if not store_address(order_id=order.pk, values=form.cleaned_data):
                form.add_error(None, address_kept_text())
                return self.ask_with_form(request, order, form, title=_("Delivery address"))
            said = _("Delivery address changed: %(fields)s.") % {"fields": _(", ").join(names)}
            self.log_change(request, order, said)
        self.message_user(request, _("The delivery address is saved."), messages.SUCCESS)
        return redirect(page_of(order))

    @transaction.atomic
    def email_view(self, request: HttpRequest, order_id: int) -> HttpResponse:
        order = self.order_to_change(request, order_id, locked=request.method == "POST")
        if order.buyer_id is not None:
            raise Http404
        form = EmailForm(request.POST if request.method == "POST" else None, initial={"email": order.email})
        if not form.is_valid():
            return self.ask_with_form(request, order, form, title=_("Mail address"))
        email = form.cleaned_data["email"]
        if form.changed_names:
            mark = mailbox_mark(email) if order.guest_mailbox else ""
            Order.objects.filter(pk=order.pk).update(email=email, guest_mailbox=mark)
            self.log_change(request, order, _("Mail address changed."))
        self.message_user(request, _("The mail address is saved."), messages.SUCCESS)
        return redirect(page_of(order))

    def corrections_of(self, request: HttpRequest, order: Order) -> list[dict[str, Any]]:
        manages, ships = self.has_manage_permission(request), self.has_ship_permission(request)
        found = []
        if ships and order.shipped_at:
            found.append(button(_("Tracking number"), "tracking", order.pk))
        if manages and order.status in CHANGEABLE:
            found.append(button(_("Delivery address"), "address", order.pk))
        if manages and order.buyer_id is None:
            found.append(button(_("Mail address"), "email", order.pk))
        return found


def button(title: str | Promise, name: str, *target: object) -> dict[str, Any]:
    return {"title": title, "url": reverse(f"admin:orders_order_{name}", args=target)}
