"""The header of a Lua script is its contract: its slots and words are those of the body."""

import re
from dataclasses import astuple, fields
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from seckill import ledger
from seckill.line import line_ledger
from seckill.store import scripts
from seckill.store.keys import ItemKeys, RoomKeys, keys_of, room_keys_of
from seckill.store.scripts import LUA_DIR
from seckill.waiting_room import room_ledger
from tests.house.script_contract import OF_LINE, OF_ROOMS, WORDS, contract_of, split

DESIGN = (Path(__file__).parents[2] / "docs" / "design.md").read_text()


# The commands that a script may use: their time does not depend on the size of the sale.
CONSTANT_TIME = {
    *(
        "TIME",
        "INFO",
        "EXISTS",
        "HEXISTS",
        "HGET",
        "HMGET",
        "HSET",
        "HDEL",
        "HINCRBY",
        "HLEN",
        "XADD",
        "XGROUP",
        "XLEN",
    ),
    # At an end of the list; the last removes a fixed number of entries.
    *("LPUSH", "LINDEX", "LLEN", "RPOP", "LTRIM"),
    # Logarithmic in the length of a line, of one entry each.
    *("ZADD", "ZREM", "ZCARD", "ZRANGE"),
    # The memory is freed by another thread of the server.
    "UNLINK",
}

# hand_on.lua deals with ten people at most, whose units are of ten sizes.
BOUNDED_LOOP = r"\bfor (_ = 1, people_max|units = 1, math\.min\(enough_for, 10\)) do\b"

# Commands without a key.
KEYLESS = {"TIME", "INFO"}

each_verb = pytest.mark.parametrize("verb", WORDS)


def bound(body: str, table: str) -> list[str]:
    """The names to which the body binds the slots of KEYS or ARGV, in the order of the slots."""
    names = {}
    for left, right in re.findall(r"^local ([\w, ]+) = (.*)$", body, re.MULTILINE):
        for name, value in zip(left.split(", "), right.split(", "), strict=False):
            if slot := re.search(rf"\b{table}\[(\d)\]", value):
                names[int(slot[1])] = name
    assert sorted(names) == list(range(1, len(names) + 1))
    return [names[slot] for slot in sorted(names)]


def test_there_is_one_file_for_each_verb_of_the_ledger() -> None:
    assert {path.stem for path in LUA_DIR.iterdir()} == set(WORDS)
    for verb in WORDS:
        ledgers = line_ledger if verb in OF_LINE else room_ledger if verb in OF_ROOMS else ledger
        assert callable(getattr(ledgers, verb))
        assert getattr(scripts, verb.upper()).verb == verb


@each_verb
def test_the_slots_of_the_header_are_counted_bound_to_their_names_and_used(verb: str) -> None:
    contract, (_, body) = contract_of(verb), split(verb)
    assert contract.sentence.endswith(".")
    assert ". " not in contract.sentence
    keys, args = len(contract.keys), len(contract.args)
    arguments = f"{args} argument" + ("" if args == 1 else "s")
    first = body.strip().splitlines()[0]
    assert first == f"assert(#KEYS == {keys} and #ARGV == {args}, '{verb} takes {keys} keys and {arguments}')"
    assert bound(body, "KEYS") == contract.keys
    assert bound(body, "ARGV") == contract.args
    assert len(re.findall(r"\bKEYS\[|\bARGV\[", body)) == keys + args
    for name in contract.keys + contract.args:
        assert len(re.findall(rf"\b{name}\b", without_texts(body))) > 1, f"{name} is bound and never used"


@each_verb
def test_header_body_and_python_have_the_same_words_in_the_same_order(verb: str) -> None:
    returned = re.findall(r"return (?:answer\(|\{)'(\w+)'", split(verb)[1])
    words = [word for word, _ in groupby(returned)]
    if verb == "reserve":
        # The only word that is said at two places: a full backlog lets nobody have a yes, and hides no other refusal.
        again = words.index("unavailable", 1)
        assert words[again - 1 : again + 2] == ["held_by_others", "unavailable", "limit_reached"]
        del words[again]
    assert words == contract_of(verb).words == [word.value for word in WORDS[verb]]


@each_verb
def test_the_body_answers_with_nothing_but_words(verb: str) -> None:
    body = split(verb)[1]
    # A function inside has an answer of its own.
    body = re.sub(r"^local function \w+\([^)]*\)$.*?^end$", "", body, flags=re.MULTILINE | re.DOTALL)
    answers = re.findall(r"^ *return (.*)$", body, re.MULTILINE)
    assert all(re.match(r"answer\('|\{'|\{word, ", answer) for answer in answers), answers


@each_verb
def test_the_worked_example_fits_the_contract(verb: str) -> None:
    contract = contract_of(verb)
    match = re.search(r"KEYS (?P<keys>.*?) ARGV (?P<args>.*?) -> \{(?P<reply>.*)\}", " ".join(contract.example.split()))
    assert match
    keys: Any = room_keys_of(42) if verb in OF_ROOMS else keys_of(42)
    assert match["keys"].split() == [getattr(keys, name) for name in contract.keys]
    assert len(match["args"].split()) == len(contract.args)
    reply = match["reply"].split(", ")
    assert reply[0] == contract.words[-1]
    assert len(reply) == len(contract.reply)


@each_verb
def test_a_script_has_no_loop_without_a_small_bound_no_key_of_its_own_and_asks_what_takes_constant_time(
    verb: str,
) -> None:
    contract, (_, body) = contract_of(verb), split(verb)
    without_bounded = re.sub(BOUNDED_LOOP, "", without_texts(body))
    assert not re.search(r"\b(for|while|repeat|goto)\b", without_bounded)
    commands = re.findall(r"redis\.p?call\('(\w+)'(?:, ([^,)]+))?", body)
    assert {command for command, _first in commands} <= CONSTANT_TIME
    assert len(commands) == len(re.findall(r"redis\.", body)), "a command is named where it is called"
    for command, first in commands:
        key = re.search(r"'CREATE', (\w+)", body) if command == "XGROUP" else None
        assert command in KEYLESS or (key[1] if key else first) in contract.keys


def test_the_design_lists_the_keys_of_an_item_and_of_a_waiting_room() -> None:
    rows = re.findall(r"^\| `(seckill:\S+)` \| `(\w+)` \| (?:hash|list|stream|sorted set) \| \S", DESIGN, re.MULTILINE)
    assert [name for _, name in rows] == [field.name for keys in (ItemKeys, RoomKeys) for field in fields(keys)]
    assert [key for key, _ in rows] == [*astuple(keys_of(42)), *astuple(room_keys_of(42))]


def without_texts(body: str) -> str:
    """The code without comments and string literals."""
    return re.sub(r"--.*|'[^'\n]*'", "", body)
