"""Changes above the bounds wait for another person with the same right, and are made once."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from orders.approvals.approval_requests import decide
from orders.approvals.approved_changes import carry_out, carry_out_approved
from orders.life import lifecycle
from orders.life.lifecycle import RefundOutcome
from orders.models import ApprovalRequest, Order, OrderStatus, Refund
from orders.payments import refunds
from orders.refund_records import RefundRequest
from seckill.changes.journal import make_change
from seckill.models import Sale, SaleChange, SaleItem
from seckill.store import durability
from shop.models import Variant
from tests.steps.at_once import at_once
from tests.steps.crash import killed_at
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.shop import other_item
from tests.steps.staff import ORDERS, confirm_and_publish, control_form, control_page, messages_on, was_checked
from tests.steps.store import counters_of

Kind = ApprovalRequest.Kind
Status = ApprovalRequest.Status
LIST = "/admin/orders/approvalrequest/"


@pytest.fixture
def first(db: None) -> User:
    return clerk("first")


@pytest.fixture
def second(db: None) -> User:
    return clerk("second")


@pytest.fixture(autouse=True)
def _bounds(settings: Settings) -> None:
    settings.APPROVAL_REFUND_ABOVE = 1000
    settings.APPROVAL_UNITS_ABOVE = 10
    settings.APPROVAL_PERCENT_OFF_ABOVE = 80


@pytest.fixture
def paid(order: Order) -> Order:
    """1900 of minor units."""
    assert lifecycle.pay(order_id=order.pk)
    order.refresh_from_db()
    return order


def clerk(name: str) -> User:
    person = User.objects.create_user(name, is_staff=True)
    rights = ("view_sale", "change_sale", "view_order", "change_order")
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    return person


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def ask_refund(person: User, order: Order, amount: str = "19.00", **sent: Any) -> list[str]:
    form = {"refund_id": str(uuid4()), "amount": amount, "reason": "broken", **sent}
    return messages_on(signed_in(person).post(f"{ORDERS}{order.pk}/refund/now/", form))


def ask_units(person: User, item: SaleItem, units: int, **sent: Any) -> list[str]:
    form = control_form(units=units, **sent)
    return messages_on(signed_in(person).post(control_page(item, SaleChange.Kind.ADD_UNITS), form))


def decision(person: User, asked: ApprovalRequest, word: str = "approve", reason: str = "seen") -> Any:
    return signed_in(person).post(f"{LIST}{asked.pk}/change/", {word: "", "reason": reason})


def only_request() -> ApprovalRequest:
    return ApprovalRequest.objects.get()


def test_a_refund_above_the_bound_waits_on_the_list_and_is_made_by_the_approval_of_another(
    first: User, second: User, paid: Order
) -> None:
    reason = "<script>alert(1)</script>"
    assert ask_refund(first, paid, reason=reason) == [
        "This is above the shop's bound: another person has to approve it, under “Approvals”."
    ]
    assert not Refund.objects.exists()
    client, page = signed_in(second), f"{LIST}{only_request().pk}/change/"
    assert "efund 19.00 CNY" in client.get(LIST).text
    assert client.get(f"{LIST}?status=waiting").context["cl"].result_count == 1
    assert "<script>alert" not in client.get(LIST).text + client.get(page).text
    assert client.get(f"{LIST}{UUID(int=1)}/change/").status_code in (302, 404)
    assert messages_on(decision(second, only_request())) == ["Approved and carried out."]
    refund, asked = Refund.objects.get(), only_request()
    assert (refund.pk, refund.amount_minor, refund.made_by, refund.reason) == (asked.pk, 1900, first, reason)
    assert (asked.status, asked.decided_by, asked.decision_reason) == (Status.DONE, second, "seen")
    paid.refresh_from_db()
    assert paid.status == OrderStatus.REFUND_DUE
    assert "Approved the request of first" in LogEntry.objects.get(user=second).change_message


def test_a_smaller_refund_is_made_at_once_and_small_ones_count_together(first: User, paid: Order) -> None:
    ask_refund(first, paid, "6.00")
    assert Refund.objects.get().amount_minor == 600
    ask_refund(first, paid, "6.00")
    assert Refund.objects.count() == 1
    assert only_request().details["amount_minor"] == 600


def test_only_another_person_with_the_same_right_decides(first: User, paid: Order) -> None:
    ask_refund(first, paid)
    assert decision(first, only_request()).status_code == 403
    assert not decide(request_id=only_request().pk, decided_by=first, is_approved=True, reason="me")
    with pytest.raises(IntegrityError, match="by_another_person"), transaction.atomic():
        ApprovalRequest.objects.update(decided_by=first)
    assert only_request().status == Status.WAITING
    page = signed_in(first).get(f"{LIST}{only_request().pk}/change/").content.decode()
    assert "nobody approves their own request" in page
    # Nor does somebody without the right.
    seller = User.objects.create_user("seller", is_staff=True)
    seller.user_permissions.set(Permission.objects.filter(codename="change_sale"))
    # Requests about orders are not shown to somebody who may not see orders.
    assert decision(seller, only_request()).status_code in (403, 404)
    assert only_request().status == Status.WAITING


def test_a_request_that_was_declined_or_has_expired_changes_nothing(first: User, second: User, paid: Order) -> None:
    ask_refund(first, paid)
    assert decision(second, only_request(), reason=" ").context["form"].errors
    decision(second, only_request(), "decline", "the goods are fine")
    declined = only_request()
    assert (declined.status, declined.decision_reason) == (Status.DECLINED, "the goods are fine")
    # It is over: a later approval is none, and the refund can be asked for again.
    decision(second, declined)
    ask_refund(first, paid)
    (waiting,) = ApprovalRequest.objects.filter(status=Status.WAITING)
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert messages_on(decision(second, waiting)) == ["This request no longer waits. Nothing was changed."]
    assert not Refund.objects.exists()
    assert carry_out_approved() == 1
    waiting.refresh_from_db()
    assert waiting.status == Status.EXPIRED


def test_a_form_that_is_sent_twice_asks_once_and_anew_once_it_was_declined(
    first: User, second: User, paid: Order
) -> None:
    same = {"refund_id": str(uuid4())}
    ask_refund(first, paid, **same)
    ask_refund(first, paid, **same)
    assert ask_refund(second, paid) == [ANOTHER_WAITS]
    assert str(only_request().pk) == same["refund_id"]
    decision(second, only_request(), "decline")
    ask_refund(first, paid, **same)
    ask_refund(first, paid, **same)
    assert list(ApprovalRequest.objects.order_by("asked_at").values_list("status", flat=True)) == [
        *(Status.DECLINED, Status.WAITING),
    ]


ANOTHER_WAITS = "A request for this already waits for another person. No second one was made."


def test_the_form_of_a_request_refunds_no_other_amount_until_it_was_shown_again(
    first: User, second: User, paid: Order
) -> None:
    client, page = signed_in(first), f"{ORDERS}{paid.pk}/refund/now/"
    form = {"refund_id": str(uuid4()), "amount": "19.00", "reason": "broken"}
    client.post(page, form)
    for amount in ("15.00", "5.00"):
        asked_again = client.post(page, form | {"amount": amount})
        assert asked_again.context["form"].non_field_errors() == [
            "This form has asked for a refund of 19.00 CNY already, which another person has to approve. Press the "
            "button once more if you want this one as well."
        ]
        assert not Refund.objects.exists()
        new_id = asked_again.context["form"]["refund_id"].value()
        said = messages_on(client.post(page, form | {"amount": amount, "refund_id": new_id}))
        assert (said == [ANOTHER_WAITS]) == (amount == "15.00")
    assert [(str(refund.pk), refund.amount_minor) for refund in Refund.objects.all()] == [(new_id, 500)]
    assert "no longer possible" in messages_on(decision(second, only_request()))[0]
    assert Refund.objects.get().amount_minor == 500


@pytest.mark.parametrize("asked", ["19.00", "15.00"], ids=["all", "a part"])
def test_an_approval_does_not_count_a_refund_of_another_amount_as_its_own(
    first: User, second: User, paid: Order, asked: str
) -> None:
    ask_refund(first, paid, asked)
    other = RefundRequest(refund_id=only_request().pk, amount_minor=400, units_of_line={}, units_back=False)
    assert lifecycle.refund_amount(order_id=paid.pk, request=other) is RefundOutcome.STARTED
    assert "no longer possible" in messages_on(decision(second, only_request()))[0]
    assert only_request().status == Status.REFUSED
    assert Refund.objects.get().amount_minor == 400


@pytest.mark.parametrize("status", [OrderStatus.REFUND_DUE, OrderStatus.REFUNDED])
def test_an_approved_refund_of_all_is_made_although_the_provider_paid_less(
    first: User, second: User, order: Order, status: str
) -> None:
    """A part had been refunded on its own site, so the rest of the amount is a row of its own."""
    send_webhook(message(payment_of(order)))
    ask_refund(first, order)
    assert decide(request_id=only_request().pk, decided_by=second, is_approved=True, reason="seen")
    # Given a process that is killed once it has started the refund, of which the provider pays 15.00
    with killed_at("approvals.after"):
        carry_out(only_request().pk)
    refunds.keep_to_amount(refund_id=only_request().pk, paid_minor=1500)
    if status == OrderStatus.REFUNDED:
        refunds.finish(refund_id=only_request().pk)
    assert Order.objects.get().status == status
    # When the sweep carries the approval out
    carry_out_approved()
    # Then it is done, and no refund was added
    assert (only_request().status, only_request().outcome) == (Status.DONE, "")
    assert sorted(Refund.objects.values_list("amount_minor", flat=True)) == [400, 1500]


def test_an_approval_of_units_does_not_count_others_that_the_same_form_has_added(
    first: User, second: User, item: SaleItem
) -> None:
    same = {"token": str(uuid4())}
    ask_units(first, item, 50, **same)
    assert ask_units(first, item, 60, **same) == [ANOTHER_WAITS]
    assert only_request().details["units"] == 50
    ask_units(first, item, 5, **same)
    assert counters_of(item).quantity == 10
    assert messages_on(decision(second, only_request())) == [
        "Approved, but no longer possible. These units were not added: other ones were added with the same form. Ask "
        "for them again."
    ]
    assert (counters_of(item).quantity, only_request().status) == (10, Status.REFUSED)


def test_an_approval_is_refused_if_the_order_has_changed_since(first: User, second: User, paid: Order) -> None:
    ask_refund(first, paid)
    assert lifecycle.refund(order_id=paid.pk, units_back=False)
    assert "no longer possible" in messages_on(decision(second, only_request()))[0]
    assert only_request().status == Status.REFUSED
    assert Refund.objects.count() == 1


def test_a_process_that_is_killed_leaves_it_to_the_sweep(first: User, second: User, paid: Order) -> None:
    ask_refund(first, paid)
    assert decide(request_id=only_request().pk, decided_by=second, is_approved=True, reason="seen")
    for moment, amounts in (("approvals.before", []), ("approvals.after", [1900])):
        with killed_at(moment):
            carry_out(only_request().pk)
        assert only_request().status == Status.APPROVED
        assert [refund.amount_minor for refund in Refund.objects.all()] == amounts
    carry_out_approved()
    assert only_request().status == Status.DONE
    assert Refund.objects.get().amount_minor == 1900


@pytest.mark.django_db(transaction=True)
def test_of_ten_who_approve_at_once_one_does_and_ten_who_carry_out_make_one_refund(first: User, paid: Order) -> None:
    ask_refund(first, paid)
    request_id = only_request().pk
    people = [clerk(f"clerk-{number}") for number in range(10)]

    def approve(person: User) -> bool:
        decided = decide(request_id=request_id, decided_by=person, is_approved=True, reason="seen")
        carry_out(request_id)
        return decided

    assert sum(at_once([partial(approve, person) for person in people])) == 1
    assert Refund.objects.get().pk == request_id
    assert only_request().status == Status.DONE


def test_units_above_the_bound_wait_and_small_steps_count_together(first: User, second: User, item: SaleItem) -> None:
    ask_units(first, item, 6)
    assert counters_of(item).quantity == 11
    ask_units(first, item, 6, reason="more came")
    assert counters_of(item).quantity == 11
    assert "6 units were added" in messages_on(decision(second, only_request()))[0]
    assert counters_of(item).quantity == 17
    entry = SaleChange.objects.latest("pk")
    assert (entry.made_by, entry.reason) == (first, "more came")
    # Once more changes nothing.
    ApprovalRequest.objects.update(status=Status.APPROVED)
    carry_out_approved()
    assert counters_of(item).quantity == 17


def test_units_that_are_not_in_stock_are_refused_before_and_after_the_request(
    first: User, second: User, item: SaleItem
) -> None:
    Variant.objects.update(available=3)
    page = signed_in(first).post(control_page(item, SaleChange.Kind.ADD_UNITS), control_form(units=50))
    assert "Only 3 units" in page.text
    assert not ApprovalRequest.objects.exists()
    Variant.objects.update(available=50)
    ask_units(first, item, 50)
    Variant.objects.update(available=3)
    assert "Only 3 units" in messages_on(decision(second, only_request()))[0]
    assert (counters_of(item).quantity, only_request().status) == (5, Status.REFUSED)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_in_five_tabs_at_once_one_person_does_not_pass_the_bound_of_units(first: User, item: SaleItem) -> None:
    at_once([partial(ask_units, first, item, 6, reason=f"tab {number}") for number in range(5)])
    assert counters_of(item).quantity == 11
    assert SaleChange.objects.get(kind=SaleChange.Kind.ADD_UNITS).units == 6
    assert only_request().details["units"] == 6


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_in_five_tabs_at_once_one_person_does_not_pass_the_bound_of_refunds(first: User, paid: Order) -> None:
    at_once([partial(ask_refund, first, paid, "3.50") for _number in range(5)])
    assert [refund.amount_minor for refund in Refund.objects.all()] == [350, 350]
    paid.refresh_from_db()
    assert (paid.refunded_minor, only_request().details["amount_minor"]) == (700, 350)


@pytest.fixture
def cheap(db: None) -> SaleItem:
    return other_item(price_minor=100, published=False, opens_in_seconds=900)


def publish(person: User, draft: SaleItem) -> None:
    was_checked(draft.sale)
    confirm_and_publish(signed_in(person), draft.sale)


def test_a_price_far_below_waits_with_the_points_that_were_confirmed_unless_the_draft_was_changed_since(
    first: User, second: User, cheap: SaleItem
) -> None:
    for model, changed in ((SaleItem, {"price_minor": 1}), (Sale, {"admission": Sale.Admission.WAITING_ROOM})):
        publish(first, cheap)
        model.objects.update(**changed)
        asked = ApprovalRequest.objects.get(status=Status.WAITING)
        assert "changed since" in messages_on(decision(second, asked))[0]
        assert not Sale.objects.get().is_published
    publish(first, cheap)
    asked = ApprovalRequest.objects.get(status=Status.WAITING)
    assert "% off" in asked.reason
    decision(second, asked)
    assert Sale.objects.get().is_published
    asked.refresh_from_db()
    assert asked.status == Status.DONE


def test_a_price_that_was_lowered_while_the_page_was_open_waits_too(
    first: User, cheap: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    SaleItem.objects.update(price_minor=9900)

    looked = durability.reason_to_refuse

    def lower_meanwhile() -> object:
        """As somebody who saves the draft after the page has looked at it, and before it is locked."""
        SaleItem.objects.update(price_minor=100)
        return looked()

    monkeypatch.setattr(durability, "reason_to_refuse", lower_meanwhile)
    publish(first, cheap)
    assert not Sale.objects.get().is_published
    assert only_request().kind == Kind.PUBLISH


def test_without_bounds_nothing_waits(first: User, paid: Order, cheap: SaleItem, settings: Settings) -> None:
    settings.APPROVAL_REFUND_ABOVE = settings.APPROVAL_UNITS_ABOVE = settings.APPROVAL_PERCENT_OFF_ABOVE = None
    ask_refund(first, paid)
    publish(first, cheap)
    assert Refund.objects.exists()
    assert not Sale.objects.filter(published_at=None).exists()
    assert not ApprovalRequest.objects.exists()


def test_the_action_of_the_list_leaves_out_what_needs_another_person(first: User, paid: Order) -> None:
    sent = {"action": "refund_orders", "_selected_action": [str(paid.pk)], "confirmed": "yes"}
    said = messages_on(signed_in(first).post(ORDERS, sent))
    assert said[0].startswith("Another person has to approve these refunds.")
    assert not Refund.objects.exists()


def test_a_pending_addition_still_counts(first: User, item: SaleItem) -> None:
    make_change(kind=SaleChange.Kind.ADD_UNITS, item_id=item.pk, units=10, reason="x", made_by=first)
    ask_units(first, item, 1)
    assert only_request().kind == Kind.ADD_UNITS
