"""After a restart or SCRIPT FLUSH the scripts are loaded again, without an error."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seckill import ledger
from seckill.ledger_words import Adjusted, Confirmed, Published, Released, ReleaseReason, RestoreAs, Restored
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.own_store import as_reservation_store, running
from tests.seckill.checked_item import ITEM_ID, CheckedItem


def test_every_verb_works_right_after_the_scripts_were_lost(item: CheckedItem) -> None:
    item.client.script_flush()
    assert item.publish() == Published.PUBLISHED
    item.client.script_flush()
    first, second = item.held(), item.held()
    item.client.script_flush()
    assert item.confirm(first) == Confirmed.CONFIRMED
    item.client.script_flush()
    assert item.release(second) == Released.RELEASED
    item.client.script_flush()
    assert item.adjust(units=1).word == Adjusted.ADJUSTED
    item.client.script_flush()
    assert item.restore(second, state=RestoreAs.HELD) == Restored.RESTORED


def test_a_script_is_loaded_once(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    item.client.script_flush()
    item.guarded = False
    before = item.store.calls()
    item.held()
    item.held()
    after = item.store.calls()
    assert after["eval"] - before.get("eval", 0) == 1
    assert after["evalsha"] - before.get("evalsha", 0) == 2


def test_many_calls_work_right_after_the_scripts_were_lost(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    ids = [item.held() for _ in range(4)]
    item.client.script_flush()
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=ids[:2]) == [Confirmed.CONFIRMED] * 2
    item.client.script_flush()
    answers = ledger.release(item_id=ITEM_ID, reservation_ids=ids[2:], reason=ReleaseReason.CANCELLED)
    assert answers == [Released.RELEASED] * 2
    item.check_invariants()


def test_each_call_takes_effect_once_if_the_script_is_lost_between_them(
    item: CheckedItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    item.publish(per_buyer_max=5)
    first, second = item.held(), item.held()

    class Forgetful(scripts.Script):
        """Loses its script after the first of the calls, as if SCRIPT FLUSH came in between."""

        def _pipeline(self, client, calls, *, then=None):  # type: ignore[no-untyped-def]
            monkeypatch.setattr(scripts, "CONFIRM", scripts.Script("confirm"))
            self.run(client, keys=calls[0][0], args=calls[0][1])
            client.script_flush()
            monkeypatch.setattr(Forgetful, "_pipeline", scripts.Script._pipeline)
            return super()._pipeline(client, calls)

    monkeypatch.setattr(scripts, "CONFIRM", Forgetful("confirm"))
    answers = ledger.confirm(item_id=ITEM_ID, reservation_ids=[first, second])
    assert answers == [Confirmed.ALREADY_CONFIRMED, Confirmed.CONFIRMED]
    assert item.counters() == ("3", "0", "2")


def test_a_script_can_be_loaded_into_a_full_store(item: CheckedItem) -> None:
    item.publish(quantity=2)
    first, second = item.held(), item.held()
    with item.store.full():
        for call in loading_all(item):
            call()
        item.client.script_flush()
        assert item.reserve(buyer=8).outcome == Outcome.HELD_BY_OTHERS
        item.client.script_flush()
        assert item.confirm(first) == Confirmed.CONFIRMED
        item.client.script_flush()
        assert item.release(second) == Released.RELEASED
        item.client.script_flush()
        assert item.restore(second, state=RestoreAs.SOLD) == Restored.RESTORED
        item.client.script_flush()
        assert item.adjust(state="paused").word == Adjusted.ADJUSTED
        assert item.adjust(state="open").word == Adjusted.ADJUSTED
        assert item.release(second, ReleaseReason.REFUNDED) == Released.RELEASED
        item.client.script_flush()
        with pytest.raises(StoreUnreachable, match="maxmemory"):
            item.reserve(buyer=8)


def loading_all(item: CheckedItem) -> list[Callable[[], object]]:
    """SCRIPT LOAD of each verb."""
    verbs = (
        scripts.PUBLISH,
        scripts.RESERVE,
        scripts.CONFIRM,
        scripts.RELEASE,
        scripts.ADJUST,
        scripts.RESTORE,
    )
    return [lambda verb=verb: item.client.script_load(verb.source) for verb in verbs]  # type: ignore[misc]


def test_after_a_restart_the_scripts_are_loaded_and_nothing_is_lost(tmp_path: Path) -> None:
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        item = CheckedItem(own_store)
        item.publish()
        first, second = item.held(), item.held()
        before = item.dump()
        own_store.kill()
        own_store.start()
        assert item.dump() == before
        assert item.reserve(first).outcome == Outcome.UNAVAILABLE
        item.mark_verified()
        assert item.reserve(first).outcome == Outcome.ALREADY_RESERVED
        assert item.confirm(first) == Confirmed.CONFIRMED
        assert item.release(second) == Released.RELEASED
        assert item.reserve(buyer=8).outcome == Outcome.RESERVED
