"""The verdict finds and names each broken promise; each is made by hand here."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rich.console import Console

from bench.stampede import cross_check, report
from bench.stampede.buyer_answers import accepted_in_doubt, collect_answers
from bench.stampede.plan import NO_ANSWER, NOT_SENT, Answer, Call, CallKind
from bench.stampede.rush import RushResult
from bench.stampede.verdict import Verdict, verdict_on
from orders.life import intake, lifecycle
from orders.models import Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.changes.journal import make_change
from seckill.models import SaleChange, SaleItem
from seckill.passes.passes import new_reservation_id
from seckill.store.keys import keys_of
from shop.models import Product
from tests.steps.shop import make_item, make_product

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_check, "AGREE_SECONDS_MAX", 0.0)


class DirectRun:
    """Calls made directly to the ledger, with the answers that HTTP would have brought."""

    def __init__(self, item: SaleItem) -> None:
        self.item = item
        self.calls: list[Call] = []
        self.answers: list[Answer] = []
        counters = ledger.read(item_id=item.pk)
        self.left_before = counters.left if counters else None

    def ask(self, buyer: User, *, units: int = 1, same_as: Call | None = None) -> Call:
        """One call and its true answer."""
        reservation_id = same_as.reservation_id if same_as else str(new_reservation_id(self.item.pk))
        kind = CallKind.REPEAT if same_as else CallKind.FIRST
        call = Call(len(self.calls), kind, self.item.pk, buyer.pk, units, "a pass", reservation_id)
        reply = ledger.reserve(
            item_id=self.item.pk, reservation_id=UUID(reservation_id), buyer_id=buyer.pk, units=units
        )
        yes = reply.outcome in ("reserved", "already_reserved")
        self.calls.append(call)
        self.answers.append(
            Answer(
                index=call.index,
                outcome=reply.outcome.value,
                tries=1,
                answered_s=1.0 + call.index,
                first_try_seconds=0.010,
                reservation_id=reservation_id if yes else "",
                units=reply.units if yes else 0,
                expires_at=str(reply.deadline_ms) if yes else "",
            )
        )
        return call

    def order(self, buyer: User) -> Call:
        """A call with a yes, which has become an order with those before."""
        call = self.ask(buyer)
        self.drain()
        return call

    def drain(self) -> None:
        intake.drain_once(item_id=self.item.pk)

    def heard(self, call: Call, **changes: Any) -> None:
        """Change what the buyer was told."""
        self.answers[call.index] = replace(self.answers[call.index], **changes)

    def verdict(self, *, died: int = 0) -> Verdict:
        return verdict_on_runs([self], died=died)


def verdict_on_runs(runs: Sequence[DirectRun], *, died: int = 0) -> Verdict:
    """As if they had been one run over several items."""
    shifts = list(itertools.accumulate((len(run.calls) for run in runs), initial=0))
    calls = [
        replace(call, index=call.index + shift) for run, shift in zip(runs, shifts, strict=False) for call in run.calls
    ]
    answers = [
        replace(answer, index=answer.index + shift)
        for run, shift in zip(runs, shifts, strict=False)
        for answer in run.answers
    ]
    item_ids = [run.item.pk for run in runs]
    heard = collect_answers(item_ids=item_ids, chains=[calls], answers=answers)
    return verdict_on(
        items=[run.item for run in runs],
        heard=heard,
        rush=RushResult(answers=answers, started_s=0.0, ended_s=10.0, died=died),
        seen_s={reservation_id: 6.5 for one in heard.values() for reservation_id in one.yes},
        accepted={item_id: accepted_in_doubt(item_id=item_id, in_doubt=one.in_doubt) for item_id, one in heard.items()},
        left_before={run.item.pk: run.left_before for run in runs},
    )


@pytest.fixture
def run(item: SaleItem) -> DirectRun:
    return DirectRun(item)


def refuse(run: DirectRun, buyer: User, *, outcome: str) -> Call:
    """A call that is refused by the answer alone."""
    call = Call(len(run.calls), CallKind.FIRST, run.item.pk, buyer.pk, 1, "a pass", str(uuid4()))
    run.calls.append(call)
    run.answers.append(Answer(index=call.index, outcome=outcome, tries=1, answered_s=5.0))
    return call


def product_beside() -> Product:
    return make_product(name="Biluochun", slug="biluochun", price_minor=9900)


def shown(verdict: Verdict) -> str:
    console = Console(file=StringIO(), width=200)
    report.show(verdict, paying={}, console=console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def order_of(call: Call) -> Order:
    return Order.objects.get(reservation_id=call.reservation_id)


def test_a_shop_that_kept_its_promises(run: DirectRun, buyer: User, rival: User) -> None:
    call = run.ask(buyer)
    run.ask(buyer, same_as=call)
    run.ask(buyer)
    run.ask(rival)
    run.drain()
    verdict = run.verdict()
    assert verdict.kept, verdict
    assert (verdict.asked, verdict.told_yes, verdict.told_yes_units, verdict.persisted) == (4, 2, 2, 2)
    assert verdict.answer_counts == {"reserved": 2, "already_reserved": 1, "limit_reached": 1}
    assert (verdict.oversold, verdict.lost, verdict.duplicated) == (0, 0, 0)
    assert (verdict.left, verdict.unsold, verdict.seconds_to_sell_out) == (3, None, None)
    assert (verdict.seconds_to_last_order, verdict.p50_ms) == (2.5, 10.0)
    assert "Each of the 2 yeses is an order" in report.summary(verdict)
    for wrong in (replace(verdict, oversold=1), replace(verdict, lost=1), replace(verdict, duplicated=1)):
        assert not wrong.kept
    assert (verdict.told_unavailable, verdict.seconds_unavailable) == (0, None)
    assert "unavailable" not in shown(verdict)
    assert "By item" not in shown(verdict)


def test_a_yes_without_an_order_is_lost(run: DirectRun, buyer: User, rival: User) -> None:
    call = run.ask(buyer)
    run.ask(rival)
    run.drain()
    order_of(call).delete()
    verdict = run.verdict()
    assert (verdict.persisted, verdict.lost, verdict.kept) == (1, 1, False)
    assert "1 orders lost" in report.summary(verdict)


def test_an_order_that_is_not_what_was_promised_is_lost(run: DirectRun, buyer: User, rival: User) -> None:
    call = run.order(buyer)
    order = Order.objects.filter(pk=order_of(call).pk)
    order.update(buyer=rival)
    assert run.verdict().lost == 1
    order.update(buyer=buyer)
    run.heard(call, units=2)
    assert run.verdict().lost == 1
    run.heard(call, units=1)
    assert run.verdict().lost == 0
    order.update(status=OrderStatus.REJECTED, ended_at=timezone.now())
    assert run.verdict().lost == 1


def test_an_order_that_its_buyer_gave_up_is_not_lost(run: DirectRun, buyer: User) -> None:
    call = run.order(buyer)
    lifecycle.cancel(order_id=order_of(call).pk)
    assert run.verdict().kept


def test_a_buyer_above_the_limit_is_a_duplicate_and_live_orders_above_the_quantity_are_oversold(
    run: DirectRun, buyer: User
) -> None:
    lines = OrderLine.objects.filter(order=order_of(run.order(buyer)))
    lines.update(units=2)
    assert run.verdict().duplicated == 1
    lines.update(units=8)
    verdict = run.verdict()
    assert verdict.oversold == 3
    assert any("PostgreSQL counts 1 units as taken, but its live orders have 8" in what for what in verdict.violations)


def test_a_store_whose_counters_do_not_add_up_or_that_lost_the_item_is_named_and_may_have_oversold(
    run: DirectRun, buyer: User, store: Any
) -> None:
    run.order(buyer)
    store.hincrby(keys_of(run.item.pk).item, "left", -1)
    verdict = run.verdict()
    assert (verdict.oversold, verdict.kept) == (0, False)
    assert any("5 is not 3 left" in what for what in verdict.violations)
    store.hset(keys_of(run.item.pk).item, mapping={"left": 4, "held": 6})
    verdict = run.verdict()
    assert verdict.oversold == 1
    assert any("5 is not 4 left + 6 held + 0 sold" in what for what in verdict.violations)
    store.delete(keys_of(run.item.pk).item)
    assert any("does not know the item" in what for what in run.verdict().violations)


def test_a_repeated_call_must_get_the_same_answer(run: DirectRun, buyer: User) -> None:
    call = run.ask(buyer)
    repeat = run.ask(buyer, same_as=call)
    run.drain()
    run.heard(repeat, expires_at="another time")
    assert any("got another reservation" in what for what in run.verdict().violations)


def test_a_pass_that_is_refused_after_its_yes_is_named(run: DirectRun, buyer: User) -> None:
    call = run.order(buyer)
    repeat = run.ask(buyer, same_as=call)
    for outcome in ("sold_out", "held_by_others", "limit_reached", "closed", "paused"):
        run.heard(repeat, outcome=outcome, reservation_id="", units=0)
        verdict = run.verdict()
        assert "1 calls were refused after a yes for the same pass" in verdict.violations, outcome
        assert not verdict.kept
    # The hold has ended, or the answer is in doubt.
    for outcome in ("hold_ended", "unavailable", NO_ANSWER, NOT_SENT):
        run.heard(repeat, outcome=outcome, reservation_id="", units=0)
        assert run.verdict().kept, outcome


def test_a_refusal_that_became_an_order_and_an_answer_that_is_no_outcome_are_named(run: DirectRun, buyer: User) -> None:
    call = run.order(buyer)
    run.heard(call, outcome="sold_out", reservation_id="", units=0)
    assert any("became orders all the same" in what for what in run.verdict().violations)
    for outcome in ("http_500", "pass_invalid"):
        run.heard(call, outcome=outcome)
        assert any("neither a yes nor a refusal" in what for what in run.verdict().violations), outcome


def test_a_limit_that_was_not_reached_is_named(run: DirectRun, buyer: User, rival: User) -> None:
    run.ask(buyer)
    call = run.ask(rival)
    run.drain()
    order_of(call).delete()
    run.heard(call, outcome="limit_reached", reservation_id="", units=0)
    assert any("below their limit" in what for what in run.verdict().violations)


def test_an_unlimited_item_never_runs_out(product: Product, buyer: User) -> None:
    run = DirectRun(make_item(product, quantity=None))
    call = run.order(buyer)
    assert run.verdict().kept
    assert "cannot be oversold" in report.summary(run.verdict())

    run.heard(call, outcome="held_by_others", reservation_id="", units=0)
    assert any("unlimited item ran out" in what for what in run.verdict().violations)


def test_a_yes_that_never_reached_its_buyer_is_settled_afterwards(run: DirectRun, buyer: User) -> None:
    call = run.order(buyer)
    run.heard(call, outcome=NO_ANSWER, reservation_id="", units=0)
    verdict = run.verdict()
    assert verdict.kept
    assert (verdict.told_yes, verdict.in_doubt, verdict.in_doubt_persisted) == (0, 1, 1)
    # Only calls that were answered make the rate.
    assert (verdict.asked, verdict.calls_per_second) == (1, 0)
    # A repeated call that is no refusal says nothing about it.
    repeat = run.ask(buyer, same_as=call)
    for outcome in ("hold_ended", NOT_SENT):
        run.heard(repeat, outcome=outcome, reservation_id="", units=0)
        verdict = run.verdict()
        assert verdict.kept, verdict.violations
        assert (verdict.in_doubt, verdict.in_doubt_persisted) == (1, 1)


def test_an_accepted_reservation_without_an_order_is_named_even_if_never_told(run: DirectRun, buyer: User) -> None:
    call = run.ask(buyer)
    run.heard(call, outcome=NO_ANSWER, reservation_id="", units=0)
    assert any("never told to the buyer" in what for what in run.verdict().violations)


def test_units_that_nobody_got_are_counted_as_unsold(product: Product, buyer: User, rival: User) -> None:
    run = DirectRun(make_item(product, quantity=2))
    run.ask(buyer)
    call = run.ask(rival)
    run.drain()
    lifecycle.cancel(order_id=order_of(call).pk)
    assert run.verdict().unsold == 1


def test_buyers_who_are_told_no_though_units_were_never_reserved_or_the_sale_was_open_are_named(
    run: DirectRun, buyer: User, rival: User
) -> None:
    run.order(buyer)
    refused = refuse(run, rival, outcome="sold_out")
    for outcome in ("sold_out", "held_by_others", "too_few_left"):
        run.heard(refused, outcome=outcome)
        wrong = "1 buyers were told that units are lacking, of which 4 were never reserved"
        assert wrong in run.verdict().violations, outcome
    for outcome in ("paused", "not_open", "closed"):
        run.heard(refused, outcome=outcome)
        wrong = "1 buyers were told that the sale is paused, not open or over, while it was open"
        assert wrong in run.verdict().violations, outcome
    # It has come to its end meanwhile.
    run.item.sale.closes_at = timezone.now()
    assert run.verdict().kept
    run.heard(refused, outcome="paused")
    assert not run.verdict().kept


def test_units_that_came_back_and_fewer_units_than_were_asked_for_make_no_false_refusal(
    product: Product, buyer: User, rival: User, stranger: User
) -> None:
    run = DirectRun(make_item(product, quantity=3, per_buyer_max=2))
    call = run.ask(buyer, units=2)
    run.ask(rival, units=2)
    run.drain()
    lifecycle.cancel(order_id=order_of(call).pk)
    run.ask(stranger, units=2)
    run.drain()
    assert [answer.outcome for answer in run.answers] == ["reserved", "too_few_left", "reserved"]
    assert run.verdict().kept


def test_buyers_may_be_told_what_staff_have_changed_meanwhile(run: DirectRun, buyer: User, rival: User) -> None:
    run.order(buyer)
    make_change(kind=SaleChange.Kind.PAUSE, sale_id=run.item.sale_id, reason="a test", made_by=None)
    run.ask(rival)
    assert run.answers[-1].outcome == "paused"
    assert run.verdict().kept


def test_a_run_in_which_nobody_is_told_yes_proves_nothing(run: DirectRun, buyer: User) -> None:
    refused = refuse(run, buyer, outcome="unavailable")
    assert report.summary(run.verdict()) == report.PROVES_NOTHING
    for outcome in ("limit_reached", NOT_SENT):
        run.heard(refused, outcome=outcome)
        assert run.verdict().proves_nothing, outcome


def test_a_run_for_units_that_are_all_gone_shows_that_none_is_sold_twice(
    product: Product, buyer: User, rival: User, stranger: User
) -> None:
    item = make_item(product, quantity=1)
    DirectRun(item).order(buyer)
    late = DirectRun(item)
    late.ask(rival)
    verdict = late.verdict()
    assert verdict.kept
    assert not verdict.proves_nothing


def test_the_other_buyers_of_the_item_do_not_count(run: DirectRun, buyer: User, rival: User) -> None:
    run.ask(buyer)
    ledger.reserve(item_id=run.item.pk, reservation_id=new_reservation_id(run.item.pk), buyer_id=rival.pk, units=1)
    run.drain()
    verdict = run.verdict()
    assert verdict.kept
    assert (verdict.told_yes, verdict.persisted, verdict.left) == (1, 1, 3)


def test_calls_of_a_process_that_died_are_in_doubt(run: DirectRun, buyer: User, rival: User) -> None:
    run.ask(buyer)
    run.ask(rival)
    run.drain()
    run.answers.pop()
    verdict = run.verdict(died=1)
    assert (verdict.in_doubt, verdict.in_doubt_persisted) == (1, 1)
    assert "1 client processes died" in verdict.violations


def test_several_items_are_counted_each_and_together(product: Product, buyer: User, rival: User) -> None:
    kept, broken = DirectRun(make_item(product, quantity=1)), DirectRun(make_item(product_beside(), quantity=2))
    kept.ask(buyer)
    call = broken.ask(buyer)
    broken.ask(rival)
    for run in (kept, broken):
        run.drain()
    order_of(call).delete()
    verdict = verdict_on_runs([kept, broken])
    assert (verdict.item_id, verdict.quantity, verdict.left) == (None, 3, 0)
    assert (verdict.told_yes, verdict.persisted, verdict.lost, verdict.kept) == (3, 2, 1, False)
    assert [(one.told_yes, one.persisted, one.lost) for one in verdict.items] == [(1, 1, 0), (2, 1, 1)]
    assert {what.partition(": ")[0] for what in verdict.violations} == {f"sale item {broken.item.pk}"}
    # From the start to the last yes of each.
    assert [one.seconds_to_sell_out for one in verdict.items] == [1.0, 2.0]
    assert "By item" in shown(verdict)


def test_buyers_who_were_told_to_repeat_their_call_are_counted(run: DirectRun, buyer: User, rival: User) -> None:
    call = run.ask(buyer)
    run.heard(call, tries=3, unavailable_s=(2.0, 5.5))
    again = run.ask(buyer, same_as=call)
    run.heard(again, tries=2, unavailable_s=(2.5,))
    run.ask(rival)
    run.drain()
    verdict = run.verdict()
    assert verdict.kept
    assert (verdict.told_unavailable, verdict.seconds_unavailable) == (1, 3.5)
    assert "told unavailable" in shown(verdict)
