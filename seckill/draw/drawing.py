"""The rule of a draw as pure functions, and the file that is published of it.

Entries are lines "item entry-id units", sorted as text; their SHA-256 is fixed when the entries close. Those of an item
are ordered by HMAC-SHA256(seed, entry id), ascending. From the first to the last, an entry wins if the item has as many
units left as it asks for; one that asks for more is passed over. `seckill/static/seckill/verify_draw.py` says the same
without this module.
"""

import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# By item id; None means no limit.
Units = Mapping[int, int | None]


class Entry(NamedTuple):
    item: int
    entry_id: str
    units: int


class Drawn(NamedTuple):
    """An entry with its place in the drawn order of its item, from 1, and whether it won at the draw."""

    item: int
    entry_id: str
    units: int
    place: int
    won: bool


def seed_sha256(seed: str) -> str:
    """The hash of a seed in hexadecimal, which is published before the first entry."""
    return hashlib.sha256(bytes.fromhex(seed)).hexdigest()


def entries_sha256(entries: Iterable[Entry]) -> str:
    lines = sorted(f"{item} {entry_id} {units}\n" for item, entry_id, units in entries)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def draw_entries(entries: Iterable[Entry], *, seed: str, units: Units) -> list[Drawn]:
    """All entries by item, in the drawn order."""
    of_item: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        of_item[entry.item].append(entry)
    return [drawn for item in sorted(of_item) for drawn in draw_item(of_item[item], seed=seed, left=units[item])]


def draw_item(entries: Sequence[Entry], *, seed: str, left: int | None) -> list[Drawn]:
    key = bytes.fromhex(seed)
    in_order = sorted(entries, key=lambda entry: hmac.digest(key, entry.entry_id.encode(), "sha256"))
    drawn = []
    for place, entry in enumerate(in_order, start=1):
        won = left is None or entry.units <= left
        if won and left is not None:
            left -= entry.units
        drawn.append(Drawn(*entry, place, won))
    return drawn


def file_text(*, sale_id: int, seed: str, units: Units, drawn: Sequence[Drawn]) -> str:
    """The whole draw as JSON: all that recomputing it takes, and what came of it."""
    content = {
        "sale": sale_id,
        "seed_sha256": seed_sha256(seed),
        "entries_sha256": entries_sha256(Entry(*one[:3]) for one in drawn),
        "seed": seed,
        "units": {str(item): quantity for item, quantity in sorted(units.items())},
        "entries": [renamed(one) for one in drawn],
    }
    return json.dumps(content, separators=(",", ":"))


def renamed(one: Drawn) -> dict[str, Any]:
    return {"item": one.item, "entry": one.entry_id, "units": one.units, "place": one.place, "won": one.won}


def differences(content: Mapping[str, Any]) -> list[str]:
    """What is wrong with a published draw, recomputed from itself; empty if nothing is."""
    seed, found = str(content["seed"]), []
    entries = [Entry(int(one["item"]), str(one["entry"]), int(one["units"])) for one in content["entries"]]
    units = {int(item): quantity for item, quantity in content["units"].items()}
    if seed_sha256(seed) != content["seed_sha256"]:
        found.append("the seed is not the one whose hash was published before the entries")
    if entries_sha256(entries) != content["entries_sha256"]:
        found.append("the entries are not those whose hash was published at their end")
    if len({entry.entry_id for entry in entries}) < len(entries):
        found.append("an entry is listed twice")
    if {entry.item for entry in entries} - units.keys():
        return [*found, "an entry is for an item without units"]
    told = {one["entry"]: (one["place"], one["won"]) for one in content["entries"]}
    for one in draw_entries(entries, seed=seed, units=units):
        if told[one.entry_id] != (one.place, one.won):
            found.append(f"entry {one.entry_id}: place {one.place}, {'won' if one.won else 'not won'} by the seed")
    return found
