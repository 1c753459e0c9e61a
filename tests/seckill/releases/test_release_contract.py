"""Two releases side by side, in the middle of a sale: what one writes, the other reads.

`release_contract.json` is the contract of the last release. The code may add to it, and may not change what is there: a
script with other slots or replies needs another name, since processes of both releases call it during a rolling update.
CONTRIBUTING.md says how to change a script, and when the file is written anew:

    RECORD_RELEASE=1 make test ARGS="tests/seckill/releases"
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.test import Client
from django.utils.module_loading import import_string
from django_redis import get_redis_connection

from orders.life import intake
from orders.models import Order
from orders.repair.audit import audit
from seckill import ledger
from seckill.ledger import Reservation
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store.keys import keys_of
from tests.house.script_contract import WORDS, contract_of
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db

RECORD = Path(__file__).with_name("release_contract.json")


def reserved(item: SaleItem, buyer: User, **changes: Any) -> Reservation:
    given = {"reservation_id": passes.new_reservation_id(item.pk), "buyer_id": buyer.pk, "units": 1, **changes}
    return ledger.reserve(item_id=item.pk, **given)


def outbox_entries(store: Any, item: SaleItem) -> list[dict[str, str]]:
    return [
        {name.decode(): value.decode() for name, value in fields.items()}
        for _entry_id, fields in store.xrange(keys_of(item.pk).outbox)
    ]


def contract_now(*, store: Any, item: SaleItem, buyer: User, client: Client) -> dict[str, Any]:
    """The scripts from their headers, the rest from what is really written."""
    reserved(item, buyer)
    keys = keys_of(item.pk)
    [hold] = store.hvals(keys.holds)
    text = passes.issue(item_id=item.pk, buyer_id=buyer.pk, expires_s=passes.expiry_s())
    client.force_login(buyer)
    session: SessionBase = import_string(f"{settings.SESSION_ENGINE}.SessionStore")(client.cookies["sessionid"].value)
    [session_key] = [key.decode() for key in get_redis_connection("default").scan_iter() if b"session" in key]
    return {
        "scripts": {
            verb: {"keys": contract.keys, "args": contract.args, "reply": contract.reply, "words": contract.words}
            for verb, contract in ((verb, contract_of(verb)) for verb in sorted(WORDS))
        },
        "keys": {name: getattr(keys, name).replace(f"{item.pk}", "ITEM") for name in sorted(keys.__slots__)},
        "item_fields": sorted(name.decode() for name in store.hkeys(keys.item)),
        "outbox_fields": list(outbox_entries(store, item)[0]),
        "hold": re.sub(r"\d+", "N", hold.decode()),
        "pass": re.sub(r"\.[A-Za-z0-9_-]{43}$", ".SIGNATURE", re.sub(r"\b[0-9a-f]{32}\b|\b\d+\b", "N", text)),
        "session": {
            "engine": settings.SESSION_ENGINE,
            "key": session_key.replace(str(session.session_key), "KEY"),
            "fields": sorted(session.load()),
        },
    }


def broken_promises(*, former: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What of the former release's contract the code of today has changed. New scripts and fields are no change."""
    found = []
    for verb, contract in former["scripts"].items():
        for part, value in contract.items():
            if now["scripts"].get(verb, {}).get(part) != value:
                found.append(f"script {verb}: {part}")
    for part in ("item_fields", "outbox_fields"):
        found += [f"{part}: {name}" for name in former[part] if name not in now[part]]
    found += [f"key {name}" for name, key in former["keys"].items() if now["keys"].get(name) != key]
    return found + [part for part in ("hold", "pass", "session") if former[part] != now[part]]


def test_the_last_release_understands_this_one(store: Any, item: SaleItem, buyer: User, client: Client) -> None:
    now = contract_now(store=store, item=item, buyer=buyer, client=client)
    if os.environ.get("RECORD_RELEASE"):
        RECORD.write_text(json.dumps(now, indent=2) + "\n")
    assert broken_promises(former=json.loads(RECORD.read_text()), now=now) == []


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "script reserve: args": lambda now: now["scripts"]["reserve"]["args"].append("colour"),
    "script reserve: reply": lambda now: now["scripts"]["reserve"]["reply"].insert(1, "colour"),
    "script release: words": lambda now: now["scripts"]["release"]["words"].pop(),
    "script confirm: keys": lambda now: now["scripts"]["confirm"]["keys"].reverse(),
    "outbox_fields: units": lambda now: now["outbox_fields"].remove("units"),
    "item_fields: left": lambda now: now["item_fields"].remove("left"),
    "key holds": lambda now: now["keys"].update(holds="seckill:{ITEM}:reservations"),
    "hold": lambda now: now.update(hold="held:N:N"),
    "pass": lambda now: now.update({"pass": "p2.N"}),
    "session": lambda now: now["session"].update(key=":3:KEY"),
}


def test_a_change_that_the_last_release_would_not_understand_is_found() -> None:
    record = RECORD.read_text()
    for broken, change in CHANGES.items():
        now = json.loads(record)
        change(now)
        assert broken in broken_promises(former=json.loads(record), now=now)


def test_something_new_is_no_change() -> None:
    former, now = json.loads(RECORD.read_text()), json.loads(RECORD.read_text())
    now["scripts"]["reserve_in_colour"] = now["scripts"]["reserve"]
    now["outbox_fields"].append("colour")
    now["item_fields"].append("colour")
    assert broken_promises(former=former, now=now) == []


def test_fields_that_a_later_release_adds_disturb_nobody(store: Any, item: SaleItem, buyer: User, rival: User) -> None:
    keys = keys_of(item.pk)
    store.hset(keys.item, "colour", "red")
    assert reserved(item, buyer).outcome is Outcome.RESERVED
    [entry] = outbox_entries(store, item)
    store.delete(keys.outbox)
    store.xgroup_create(keys.outbox, "intake", id="0", mkstream=True)
    store.xadd(keys.outbox, {**entry, "colour": "red"})
    assert intake.drain_once(item_id=item.pk) == 1
    assert Order.objects.get().buyer == buyer
    assert left_held_sold(item)[:2] == (4, 1)
    assert audit(item_id=item.pk).comparison.problem_count == 0


def test_an_item_that_an_earlier_release_published_is_sold_as_any_other(
    store: Any, item: SaleItem, buyer: User, rival: User
) -> None:
    # It knew neither the count of forgotten holds nor the list of the latest reservations.
    assert reserved(item, buyer).outcome is Outcome.RESERVED
    keys = keys_of(item.pk)
    store.hdel(keys.item, "forgotten")
    store.delete(keys.latest)
    reservation_id = passes.new_reservation_id(item.pk)
    assert reserved(item, rival, reservation_id=reservation_id).outcome is Outcome.RESERVED
    assert reserved(item, rival, reservation_id=reservation_id).outcome is Outcome.ALREADY_RESERVED
    assert intake.drain_once(item_id=item.pk) == 2
    assert audit(item_id=item.pk).comparison.problem_count == 0
