"""Refunds of the release before: each becomes a row, and one that is under way is finished."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

from orders import tasks
from orders.models import Order, OrderStatus, Payment, Refund
from orders.payments.simulated.models import SimulatedRefund, SimulatedSession

NAME = "one_kind_of_refund"
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def empty_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database of its own, so that a migration that fails halfway spoils no other test."""
    with django_db_blocker.unblock():
        shared = connections["default"]
        own = shared.copy(alias="default")
        own.settings_dict["NAME"] = f"refunds_{uuid4().hex}"
        with shared._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {own.settings_dict['NAME']}")
        connections["default"] = own
        try:
            yield
        finally:
            own.close()
            connections["default"] = shared
            with shared._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE {own.settings_dict['NAME']}")


class Before:
    """Rows as the release before wrote them."""

    def __init__(self, apps: Any) -> None:
        self.apps = apps
        self.buyer = apps.get_model("auth", "User").objects.create(username="alice", email="alice@example.com")

    def add(self, model: str, **values: Any) -> Any:
        app = "simulated_payments" if model.startswith("Simulated") else "orders"
        return self.apps.get_model(app, model).objects.create(**values)

    def order(self, status: str, *, payment_status: str, amount_minor: int = 1900, **values: Any) -> tuple[Any, Any]:
        """An order of 19.00 and its payment, of which the company knows too."""
        times = {"reserved_at": NOW, "expires_at": NOW + timedelta(minutes=15), "ended_at": NOW}
        order = self.add(
            "Order",
            buyer=self.buyer,
            status=status,
            amount_minor=1900,
            currency="CNY",
            settled_at=NOW,
            **times,
            **values,
        )
        payment_id = uuid4()
        payment = self.add(
            "Payment",
            id=payment_id,
            order=order,
            provider="simulated",
            provider_reference=payment_id.hex,
            idempotency_key="key",
            status=payment_status,
            amount_minor=1900,
            currency="CNY",
            captured_at=NOW,
            next_attempt_at=NOW if payment_status == "refund_due" else None,
        )
        self.add(
            "SimulatedSession",
            reference=payment_id.hex,
            payment_id=payment_id,
            amount_minor=amount_minor,
            currency="CNY",
            status="refunded" if payment_status == "refunded" else "captured",
        )
        self.event(payment, "captured", outcome="paid", amount_minor=amount_minor)
        return order, payment

    def event(self, payment: Any, kind: str, *, outcome: str, amount_minor: int = 1900) -> None:
        self.add(
            "PaymentEvent",
            provider="simulated",
            event_id=uuid4().hex,
            kind=kind,
            payment_id=payment.id,
            amount_minor=amount_minor,
            currency="CNY",
            happened_at=NOW,
            applied_at=NOW,
            outcome=outcome,
        )


@pytest.mark.slow
@pytest.mark.usefixtures("empty_database")
def test_refunds_of_the_release_before_become_rows_and_go_on() -> None:
    executor = MigrationExecutor(connections["default"])
    new = next(key for key in executor.loader.graph.nodes if key[0] == "orders" and key[1].endswith(NAME))
    old = [parent.key for parent in executor.loader.graph.node_map[new].parents]
    executor.migrate(old)
    before = Before(MigrationExecutor(connections["default"]).loader.project_state(old).apps)

    _, late = before.order("refund_due", payment_status="refund_due")
    _, wrong = before.order("refund_due", payment_status="refund_due", amount_minor=1500)
    staff_order, staffs = before.order("refund_due", payment_status="refund_due", refunded_minor=1900)
    whole = before.add("Refund", id=uuid4(), order=staff_order, payment=staffs, amount_minor=1900, is_whole=True)
    done_order, done = before.order("refunded", payment_status="refunded")
    before.event(done, "refunded", outcome="refunded")
    before.add("Mail", order=done_order, kind="refunded", next_attempt_at=NOW)
    part_order, parted = before.order("paid", payment_status="captured", refunded_minor=500)
    part = before.add("Refund", id=uuid4(), order=part_order, payment=parted, amount_minor=500, next_attempt_at=NOW)
    before.event(parted, "part_refunded", outcome="part_refunded", amount_minor=500)

    executor = MigrationExecutor(connections["default"])
    executor.migrate([new])
    after = executor.loader.project_state([new]).apps
    refunds, mails, events = (after.get_model("orders", name).objects for name in ("Refund", "Mail", "PaymentEvent"))

    def rows_of(payment: Any) -> list[tuple[int, str, bool]]:
        return list(refunds.filter(payment=payment.id).values_list("amount_minor", "status", "is_surplus"))

    assert rows_of(late) == [(1900, "due", True)]
    assert rows_of(wrong) == [(1500, "due", True)]
    assert rows_of(staffs) == [(1900, "due", False)]
    assert rows_of(done) == [(1900, "refunded", True)]
    assert rows_of(parted) == [(500, "due", False)]
    # The sweep asks for all that is due.
    assert not refunds.filter(status="due", next_attempt_at=None).exists()
    assert mails.get().refund == refunds.get(payment=done.id)
    assert events.filter(kind="refund_paid", outcome="refunded").count() == 1
    assert {whole.id, part.id} <= set(refunds.values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_whole_refund_that_the_company_had_made_before_the_upgrade_is_not_made_twice(buyer: User) -> None:
    """Its message is under way, in the words of the release before."""
    order = Order.objects.create(
        buyer=buyer,
        amount_minor=1900,
        currency="CNY",
        status=OrderStatus.REFUND_DUE,
        reserved_at=NOW,
        expires_at=NOW,
        ended_at=NOW,
    )
    payment = Payment.objects.create(
        id=UUID(int=7), order=order, provider="simulated", status="refund_due", amount_minor=1900, currency="CNY"
    )
    SimulatedSession.objects.create(
        reference="sim", payment_id=payment.pk, amount_minor=1900, currency="CNY", status="refunded"
    )
    refund = Refund.objects.create(order=order, payment=payment, amount_minor=1900, next_attempt_at=NOW)
    tasks.move_refunds()
    refund.refresh_from_db()
    assert (refund.status, refund.last_error) == ("due", "")
    assert not SimulatedRefund.objects.exists()
