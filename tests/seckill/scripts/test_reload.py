"""After a restart or SCRIPT FLUSH the scripts are loaded again, without an error."""

import pytest

from seckill import ledger
from seckill.ledger_words import Confirmed, Released, ReleaseReason
from seckill.store import scripts
from tests.seckill.checked_item import ITEM_ID, CheckedItem


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
