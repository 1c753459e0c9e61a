"""The page on which staff refund an order, all of it or a part."""

from collections import Counter
from collections.abc import Callable
from typing import Any, cast
from uuid import uuid4

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from orders.approvals.approval_bounds import refund_needs_another
from orders.approvals.approval_requests import NOT_OVER, Kind, ask, said_of
from orders.life import lifecycle
from orders.life.lifecycle import RefundOutcome
from orders.models import BY_HAND, SOLD, ApprovalRequest, Order, Refund
from orders.refund_records import RefundRequest, captured_payment, refundable_minor, units_left
from orders.staff.read_only_admin import amount_text
from shop.prices.money import to_decimal, to_minor, to_text
from shop.prices.price_field import check_step

WRONG_AMOUNT = gettext_lazy("Enter an amount above zero, and at most %(amount)s.")
NO_UNITS = gettext_lazy(
    "No units would go back on sale: enter how many of each product are refunded. Units of a flash sale go back only "
    "with the whole order."
)
OTHER_AMOUNT = gettext_lazy(
    "The units that go back on sale cost %(price)s, and you refund %(amount)s. Correct the amount or the units, or "
    "tick below that you want it so."
)
OTHER_REQUEST = gettext_lazy(
    "This form has asked for a refund of %(amount)s already, which another person has to approve. Press the button "
    "once more if you want this one as well."
)
OTHER_REFUND = gettext_lazy(
    "The refunds of this order have changed since this page was shown: they are %(amount)s now. Press the button once "
    "more if you want this one as well."
)


class RefundForm(forms.Form):
    """Filled with all that is left. `refund_id` makes a form that is sent twice one refund, or one request for it."""

    refund_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    # When the page was shown: two people may answer one complaint.
    refunded_minor = forms.IntegerField(widget=forms.HiddenInput, required=False)
    amount = forms.DecimalField(
        label=gettext_lazy("Amount to refund"),
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=Refund._meta.get_field("reason").max_length,
        required=False,
        help_text=gettext_lazy("Only staff see it."),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    units_back = forms.BooleanField(
        label=gettext_lazy("Put the units back on sale"),
        required=False,
        help_text=gettext_lazy(
            "Leave this unchecked if the goods are missing or damaged. Units of a flash sale go back only with the "
            "whole order."
        ),
        widget=UnfoldBooleanWidget,
    )
    other_amount = forms.BooleanField(
        label=gettext_lazy("Refund this amount although the units cost something else"),
        required=False,
        widget=forms.HiddenInput,
    )

    def __init__(self, order: Order, data: Any = None) -> None:
        super().__init__(data)
        self.order = order
        self.payment = captured_payment(order)
        self.left_minor = refundable_minor(order, self.payment)
        self.fields["amount"].initial = to_text(minor=self.left_minor, currency=order.currency)
        self.fields["amount"].help_text = _("At most %(amount)s.") % {"amount": self.left_text}
        self.fields["refunded_minor"].initial = order.refunded_minor
        left = units_left(order)
        self.lines = list(order.lines.all())
        count = Counter(line.title for line in self.lines)
        for line in self.lines:
            name = line.title if count[line.title] == 1 else f"{line.title} ({line.sku})"
            self.fields[units_name(line.pk)] = forms.IntegerField(
                label=_("Units refunded: %(product)s") % {"product": name},
                min_value=0,
                max_value=left[line.pk],
                initial=0,
                required=False,
                help_text=_("Which units a refund of a part is about. All of them, if all money is refunded."),
                widget=UnfoldAdminIntegerFieldWidget,
            )

    @property
    def left_text(self) -> str:
        return amount_text(self.left_minor, self.order.currency)

    def clean_amount(self) -> int:
        """Minor units."""
        amount, currency = self.cleaned_data["amount"], self.order.currency
        is_possible = 0 < amount <= to_decimal(minor=self.left_minor, currency=currency)
        try:
            # Only then: numbers such as 1E+999999 are too large for arithmetic.
            minor = to_minor(amount=amount, currency=currency) if is_possible else 0
        except ValueError:
            minor = 0
        if not minor:
            raise ValidationError(WRONG_AMOUNT % {"amount": self.left_text})
        if self.payment:
            check_step(minor, currency, providers=[self.payment.provider])
        return minor

    def clean(self) -> dict[str, Any]:
        """Units go back on sale for their price, with or without the delivery. Another amount is asked about again."""
        sent: dict[str, Any] = super().clean() or {}
        amount_minor = sent.get("amount")
        if self.errors:
            return sent
        self.check_request()
        self.check_others()
        if not sent["units_back"] or amount_minor == self.left_minor:
            return sent
        back = [(line, sent[units_name(line.pk)] or 0) for line in self.lines if line.sale_item_id is None]
        price_minor = sum(units * line.unit_price_minor for line, units in back)
        if not price_minor:
            raise ValidationError(NO_UNITS)
        if amount_minor not in (price_minor, price_minor + self.order.shipping_minor) and not sent["other_amount"]:
            self.fields["other_amount"].widget = UnfoldBooleanWidget()
            raise ValidationError(
                OTHER_AMOUNT
                % {
                    "amount": amount_text(sent["amount"], self.order.currency),
                    "price": amount_text(price_minor, self.order.currency),
                }
            )
        return sent

    def check_request(self) -> None:
        """After the browser's Back, a form that waits for an approval can have other figures: they need another id."""
        of_form = ApprovalRequest.objects.filter(
            pk=self.cleaned_data["refund_id"], kind=Kind.REFUND, status__in=NOT_OVER
        )
        if asked := of_form.exclude(subject_id=self.order.pk, details=self.details).first():
            self.data = {**self.data, "refund_id": str(uuid4())}
            amount = amount_text(asked.details["amount_minor"], asked.details["currency"])
            raise ValidationError(OTHER_REQUEST % {"amount": amount})

    def check_others(self) -> None:
        """A refund that somebody else has made meanwhile is shown first."""
        now_minor, sent = self.order.refunded_minor, self.cleaned_data
        if sent["refunded_minor"] in (None, now_minor) or Refund.objects.filter(pk=sent["refund_id"]).exists():
            return
        self.data = {**self.data, "refunded_minor": now_minor}
        raise ValidationError(OTHER_REFUND % {"amount": amount_text(now_minor, self.order.currency)})

    @property
    def details(self) -> dict[str, Any]:
        """What another person approves."""
        sent, order = self.cleaned_data, self.order
        return {
            "amount_minor": sent["amount"],
            "currency": order.currency,
            "is_all": sent["amount"] == self.left_minor and order.status in SOLD,
            "units": {str(line.pk): sent.get(units_name(line.pk)) or 0 for line in self.lines},
            "units_back": sent["units_back"],
        }


def units_name(line_id: int) -> str:
    return f"units-{line_id}"


def make_refund(request: HttpRequest, form: RefundForm, *, on_done: Callable[[], object]) -> RefundOutcome:
    """All that is left ends the order; a part leaves it as it is. Above the shop's bound nothing is done."""
    sent, order, made_by = form.cleaned_data, form.order, cast(User, request.user)
    if Refund.objects.filter(pk=sent["refund_id"]).exists():
        return RefundOutcome.REPEATED
    more = {"units_back": sent["units_back"], "reason": sent["reason"], "made_by": made_by}
    if sent["amount"] == form.left_minor and order.status in SOLD:
        # With what was refunded before it is the order's whole amount, which no other form changes.
        if refund_needs_another(order, amount_minor=sent["amount"]):
            return RefundOutcome.ABOVE_BOUND
        done = lifecycle.refund(order_id=order.pk, amount_minor=sent["amount"], on_done=on_done, **more)
        return RefundOutcome.STARTED if done else RefundOutcome.NOT_REFUNDABLE
    units = {line.pk: sent.get(units_name(line.pk)) or 0 for line in form.lines}
    asked = RefundRequest(refund_id=sent["refund_id"], amount_minor=sent["amount"], units_of_line=units, **more)
    bound_minor = settings.APPROVAL_REFUND_ABOVE
    return lifecycle.refund_amount(order_id=order.pk, request=asked, bound_minor=bound_minor, on_done=on_done)


def ask_another(request: HttpRequest, form: RefundForm) -> tuple[str, int]:
    """Ask for the approval that the refund needs, and say so, with the level of the message."""
    sent, order = form.cleaned_data, form.order
    asked = ask(
        request_id=sent["refund_id"],
        kind=Kind.REFUND,
        subject_id=order.pk,
        subject=str(order),
        details=form.details,
        reason=sent["reason"],
        asked_by=cast(User, request.user),
    )
    return said_of(asked)


def history_of(form: RefundForm) -> str:
    """The line in the order's history."""
    amount = amount_text(form.cleaned_data["amount"], form.order.currency)
    reason = form.cleaned_data["reason"]
    text = _("Refund of %(amount)s.") % {"amount": amount}
    return f"{text} {reason}".strip()


class PaidBackForm(forms.Form):
    """`refunds` are those that the page showed: another one may have been made since."""

    refunds = forms.ModelMultipleChoiceField(Refund.objects.none(), required=False, widget=forms.MultipleHiddenInput)
    reference = forms.CharField(
        label=gettext_lazy("Reference"),
        max_length=Refund._meta.get_field("provider_reference").max_length,
        help_text=gettext_lazy("How the payment is found again, such as the number of the bank transfer."),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )

    def __init__(self, order: Order, data: Any = None) -> None:
        super().__init__(data)
        self.owed, self.currency = Refund.objects.filter(BY_HAND, order=order), order.currency
        chosen = cast("forms.ModelMultipleChoiceField[Refund]", self.fields["refunds"])
        chosen.queryset = Refund.objects.filter(order=order)
        self.fields["refunds"].initial = list(self.owed)

    @property
    def owed_text(self) -> str:
        """Of the refunds that this form marks."""
        owed = self.owed.filter(pk__in=self.cleaned_data.get("refunds", [])) if self.is_bound else self.owed
        return amount_text(sum(refund.amount_minor for refund in owed), self.currency)
