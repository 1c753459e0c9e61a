"""Each line of each script is needed: whatever is removed or turned round in it, one of its tests goes red.

The tests are those of test_publish.py and of the other verbs' files, run as they are.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

import pytest
from redis.exceptions import ResponseError

from seckill import scripts
from seckill.scripts import Script
from tests.own_store import OwnStore, as_reservation_store
from tests.seckill.checked_item import CheckedItem
from tests.seckill.scripts import test_adjust, test_confirm, test_publish, test_release, test_reserve, test_restore
from tests.seckill.scripts.lua_mutants import Mutant, mutants_of

Case = Callable[[CheckedItem], None]

MODULES = {
    "publish": test_publish,
    "reserve": test_reserve,
    "confirm": test_confirm,
    "release": test_release,
    "adjust": test_adjust,
    "restore": test_restore,
}

# Damages that change nothing, and why: (verb, the line as damaged) -> reason.
EQUIVALENT = {
    (
        "reserve",
        "redis.call('HSET', holds, reservation_id, 'held:' .. buyer .. ':' .. units .. ':' .. deadline_ms)",
    ): "XADD and HSET exchanged: a full store refuses the one like the other, and the first write decides",
}

# A generator that finds no damages would find no survivors.
MUTANTS_MIN = {"publish": 115, "reserve": 365, "confirm": 92, "release": 138, "adjust": 235, "restore": 255}


@pytest.mark.parametrize("verb", MODULES)
def test_whatever_is_damaged_in_a_script_some_test_goes_red(
    verb: str,
    own_store: OwnStore,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    cases = list(cases_of(MODULES[verb]))
    survivors: list[Mutant] = []
    killed = 0
    with as_reservation_store(own_store):
        assert killer_of(cases, own_store) is None, "the script as it is passes its tests"
        for mutant in mutants_of(verb, getattr(scripts, verb.upper()).source):
            if not compiles(mutant, own_store):
                continue
            monkeypatch.setattr(scripts, verb.upper(), Script(verb, mutant.source))
            killer = killer_of(cases, own_store)
            if killer is None:
                survivors.append(mutant)
                continue
            killed += 1
            # What found the last one is likely to find the next.
            cases.remove(killer)
            cases.insert(0, killer)
    record_property("mutants_killed", killed)
    print(f"{verb}.lua: {killed} of {killed + len(survivors)} mutants killed by {len(cases)} tests")
    unexplained = [mutant for mutant in survivors if (verb, mutant.after) not in EQUIVALENT]
    assert not unexplained, "\n".join(["no test goes red for", *map(str, unexplained)])
    explained = {(verb, mutant.after) for mutant in survivors}
    assert explained == {key for key in EQUIVALENT if key[0] == verb}, "an explanation without its mutant"
    assert killed >= MUTANTS_MIN[verb]


def cases_of(module: ModuleType) -> Iterator[Case]:
    """The module's tests as functions of a CheckedItem, one for each set of parameters."""
    for name, function in vars(module).items():
        if name.startswith("test_"):
            marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
            for arguments in itertools.product(*[list(arguments_of(*mark.args)) for mark in marks]):
                merged = {key: value for part in arguments for key, value in part.items()}
                yield partial(function, **merged)


def arguments_of(names: str | tuple[str, ...], values: list[object]) -> Iterator[dict[str, object]]:
    for value in values:
        yield {names: value} if isinstance(names, str) else dict(zip(names, value, strict=True))  # type: ignore[call-overload]


def compiles(mutant: Mutant, own_store: OwnStore) -> bool:
    try:
        own_store.client.script_load(mutant.source)
    except ResponseError:
        return False
    return True


def killer_of(cases: list[Case], own_store: OwnStore) -> Case | None:
    """The first test that goes red; None where all are green."""
    for case in cases:
        try:
            case(CheckedItem(own_store))
        except (Exception, pytest.fail.Exception):
            return case
    return None
