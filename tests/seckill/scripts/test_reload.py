"""A store that forgot the scripts (restart, SCRIPT FLUSH) is taught them again, and nobody notices."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seckill import ledger, scripts
from seckill.ledger import Adjusted, Confirmed, Published, Reason, Released, Restore, Restored
from seckill.outcomes import Outcome
from tests.own_store import as_reservation_store, running
from tests.seckill.stage import ITEM_ID, Stage


def test_every_verb_works_right_after_the_store_forgot_it(stage: Stage) -> None:
    stage.client.script_flush()
    assert stage.publish() == Published.PUBLISHED
    stage.client.script_flush()
    first, second = stage.held(), stage.held()
    stage.client.script_flush()
    assert stage.confirm(first) == Confirmed.CONFIRMED
    stage.client.script_flush()
    assert stage.release(second) == Released.RELEASED
    stage.client.script_flush()
    assert stage.adjust(units=1).word == Adjusted.ADJUSTED
    stage.client.script_flush()
    assert stage.restore(second, state=Restore.HELD) == Restored.RESTORED


def test_the_store_is_taught_once_and_then_remembers(stage: Stage) -> None:
    stage.publish(per_buyer_max=5)
    stage.client.script_flush()
    stage.guarded = False
    before = stage.store.calls()
    stage.held()
    stage.held()
    after = stage.store.calls()
    assert after["eval"] - before.get("eval", 0) == 1
    assert after["evalsha"] - before.get("evalsha", 0) == 2


def test_many_at_once_work_right_after_the_store_forgot(stage: Stage) -> None:
    stage.publish(per_buyer_max=5)
    ids = [stage.held() for _ in range(4)]
    stage.client.script_flush()
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=ids[:2]) == [Confirmed.CONFIRMED] * 2
    stage.client.script_flush()
    answers = ledger.release(item_id=ITEM_ID, reservation_ids=ids[2:], reason=Reason.CANCELLED)
    assert answers == [Released.RELEASED] * 2
    stage.check_invariants()


def test_a_store_that_forgets_in_the_middle_of_many_has_each_done_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.publish(per_buyer_max=5)
    first, second = stage.held(), stage.held()

    class Forgetful(scripts.Script):
        """Loses its script after the first of the calls, as if SCRIPT FLUSH came in between."""

        def _pipeline(self, client, calls):  # type: ignore[no-untyped-def]
            monkeypatch.setattr(scripts, "CONFIRM", scripts.Script("confirm"))
            self.run(client, keys=calls[0][0], args=calls[0][1])
            client.script_flush()
            monkeypatch.setattr(Forgetful, "_pipeline", scripts.Script._pipeline)
            return super()._pipeline(client, calls)

    monkeypatch.setattr(scripts, "CONFIRM", Forgetful("confirm"))
    answers = ledger.confirm(item_id=ITEM_ID, reservation_ids=[first, second])
    assert answers == [Confirmed.ALREADY_CONFIRMED, Confirmed.CONFIRMED]
    assert stage.counters() == ("3", "0", "2")


def test_a_full_store_that_forgot_can_be_taught(stage: Stage) -> None:
    stage.publish(quantity=2)
    first, second = stage.held(), stage.held()
    with stage.store.full():
        for call in taught_anew(stage):
            call()
        stage.client.script_flush()
        assert stage.reserve(buyer=8).outcome == Outcome.HELD_BY_OTHERS
        stage.client.script_flush()
        assert stage.confirm(first) == Confirmed.CONFIRMED
        stage.client.script_flush()
        assert stage.release(second) == Released.RELEASED
        stage.client.script_flush()
        assert stage.restore(second, state=Restore.SOLD) == Restored.RESTORED
        stage.client.script_flush()
        assert stage.adjust(state="paused").word == Adjusted.ADJUSTED
        assert stage.adjust(state="open").word == Adjusted.ADJUSTED
        assert stage.release(second, Reason.REFUNDED) == Released.RELEASED
        stage.client.script_flush()
        with pytest.raises(ledger.StoreUnreachable, match="maxmemory"):
            stage.reserve(buyer=8)


def taught_anew(stage: Stage) -> list[Callable[[], object]]:
    """SCRIPT LOAD of each verb."""
    verbs = (
        scripts.PUBLISH,
        scripts.RESERVE,
        scripts.CONFIRM,
        scripts.RELEASE,
        scripts.ADJUST,
        scripts.RESTORE,
    )
    return [lambda verb=verb: stage.client.script_load(verb.source) for verb in verbs]  # type: ignore[misc]


def test_a_restarted_store_is_taught_and_still_holds_everything(tmp_path: Path) -> None:
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        stage = Stage(own_store)
        stage.publish()
        first, second = stage.held(), stage.held()
        before = stage.dump()
        own_store.kill()
        own_store.start()
        assert stage.dump() == before
        assert stage.reserve(first).outcome == Outcome.UNAVAILABLE
        stage.vouch()
        assert stage.reserve(first).outcome == Outcome.ALREADY_RESERVED
        assert stage.confirm(first) == Confirmed.CONFIRMED
        assert stage.release(second) == Released.RELEASED
        assert stage.reserve(buyer=8).outcome == Outcome.RESERVED
