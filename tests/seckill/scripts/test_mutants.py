"""Each line of each script is needed: whatever is removed or changed in it, one of its tests fails.

The tests are those of test_publish.py, of the other verbs, and of test_every_*.py, run as they are.
"""

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType

import pytest
from redis.exceptions import ResponseError

from seckill.store import client as store_client
from seckill.store import scripts
from seckill.store.failures import Cause
from seckill.store.scripts import Script
from tests.house.script_contract import OF_LINE, OF_ROOMS
from tests.own_store import OwnStore, as_reservation_store
from tests.processes import wait_until
from tests.seckill.checked_item import CheckedItem
from tests.seckill.scripts.lua_mutants import Mutant, mutants_of
from tests.steps.store import store_answers

# Each mutant is tried with all tests of its script.
pytestmark = pytest.mark.slow

Case = Callable[[CheckedItem], None]

# Mutants that behave like the script itself, and why: (verb, the line as damaged) -> reason. They are not tried: each
# would take all tests of its script.
EQUIVALENT = {
    (
        "admit",
        "string.match(redis.call('LINDEX', steps, place) or 'x', '^(%d+):(%d+):(%d+):(%d+)$')",
    ): "neither text is a step",
    (
        "reserve",
        "redis.call('HSET', holds, reservation_id, string.format('held:%s:%.0f:%.0f', buyer, units, deadline_ms))",
    ): "XADD and HSET exchanged: a full store refuses either of them, and the first write decides",
    (
        "readmit",
        "redis.call('HSET', holds, reservation_id, string.format('held:%s:%.0f:%s', buyer, units, deadline_ms))",
    ): "as in reserve",
    (
        "join_line",
        "redis.call('ZADD', line, string.format('%.0f', units * 2 ^ 40 + arrival), buyer)",
    ): "HSET and ZADD exchanged: HINCRBY before them is the first write",
    (
        "hand_on",
        "redis.call('HSET', holds, reservation_id, string.format('held:%s:%.0f:%.0f', buyer, units, deadline_ms))",
    ): "XADD and HSET exchanged: as in reserve",
    ("hand_on", "for units = 0, math.min(enough_for, 10) do"): "no place is for 0 units",
    ("hand_on", "for units = 1, math.min(enough_for, 20) do"): "no place is for more than 10 units",
    ("hand_on", "local enough_for = left >= per_buyer_max and 20 or left"): "as above: the loop ends at 10",
    (
        "hand_on",
        "string.format('(%.0f', (units + 1) * 2 ^ 40), 'BYSCORE', 'LIMIT', 0, 2, 'WITHSCORES')",
    ): "the first of two is the first",
    ("hand_on", "local arrival = found[1] and found[2] - units * 2 ^ 40"): "a buyer has a score",
    ("hand_on", "if arrival and (not least or arrival <= least) then"): "no two places have the same arrival",
    (
        "hand_on",
        "local reservation_id, units = string.match(redis.call('HGET', places, buyer) or 'x', '^([^:]+):(%d+):%d+$')",
    ): "neither text is a place",
    ("leave_line", "redis.call('ZREM', line, buyer)"): "HDEL and ZREM exchanged: a full store accepts either of them",
    **{
        (verb, f"{begin}redis.call('ZRANGE', line, 0, {last}, 'WITHSCORES')[2]"): "the second answer is the first score"
        for verb, begin in (
            ("open_line", "local least = "),
            ("leave_line", "local least = "),
            ("hand_on", "local least = "),
        )
        for last in (1, -1)
    },
    (
        "enter",
        "redis.call('HSET', room, 'entered', entered + 1)",
    ): "HSET and HSET exchanged: a full store refuses either of them, and the first write decides",
}

# A generator that makes no mutants would find no survivors.
MUTANTS_MIN = {
    "publish": 85,
    "reserve": 300,
    "readmit": 220,
    "confirm": 80,
    "release": 110,
    "adjust": 180,
    "restore": 200,
    "forget": 100,
    "archive": 70,
    "open_line": 20,
    "join_line": 150,
    "leave_line": 40,
    "hand_on": 300,
    "arrive": 50,
    "admit": 150,
    "enter": 60,
}

# How often a test is tried while the store is late.
ATTEMPTS_MAX = 5

# The tests of each verb: they are what is tried here, so they are loaded by the names of their files.


def package_of(verb: str) -> str:
    if verb in OF_ROOMS:
        return "waiting_room"
    return "scripts.line" if verb in OF_LINE else "scripts"


MODULES = {verb: import_module(f"tests.seckill.{package_of(verb)}.test_{verb}") for verb in MUTANTS_MIN}
OF_EVERY_VERB = [import_module(f"tests.seckill.scripts.test_every_{what}") for what in ("verb", "loss")]


@pytest.mark.parametrize("verb", MODULES)
def test_for_every_mutant_of_a_script_some_test_fails(
    verb: str, own_store: OwnStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [*cases_of(MODULES[verb]), *(case for module in OF_EVERY_VERB for case in cases_of(module, verb=verb))]
    survivors: list[Mutant] = []
    failures: Counter[Cause] = Counter()
    monkeypatch.setattr(store_client, "report_failure", lambda cause, _message: failures.update([cause]))
    with as_reservation_store(own_store):
        seconds = dict.fromkeys(cases, 0.0)
        source = getattr(scripts, verb.upper()).source
        mutants = [mutant for mutant in mutants_of(verb, source) if compiles(mutant, own_store)]
        assert len(mutants) >= MUTANTS_MIN[verb]
        explained = {(verb, mutant.after) for mutant in mutants} & EQUIVALENT.keys()
        assert explained == {key for key in EQUIVALENT if key[0] == verb}, "an explanation without its mutant"
        tried = [mutant for mutant in mutants if (verb, mutant.after) not in explained]
        # Where in the script the damages were for which each test has failed.
        failed_at: defaultdict[Case, list[int]] = defaultdict(list)
        for mutant in tried:
            monkeypatch.setattr(scripts, verb.upper(), Script(verb, mutant.source))
            place = source.index(mutant.before)
            # A test that has failed for a damage nearby is likely to fail for this one too, most of all for one of the
            # same line. A slow one is tried late.
            of_line = Counter(case for case in cases for at in failed_at[case] if at == place)
            nearest = {case: min((abs(place - at) for at in failed_at[case]), default=3_000) for case in cases}
            cost = {case: (100 + nearest[case]) * (0.001 + seconds[case]) for case in cases}
            cases.sort(key=lambda case: (-of_line[case], cost[case]))
            killer = killer_of(seconds, cases, own_store, verb, failures)
            if killer is None:
                survivors.append(mutant)
            else:
                failed_at[killer].append(place)
        # Else a store that broke meanwhile, or a test that cannot pass here, would have killed every mutant.
        monkeypatch.setattr(scripts, verb.upper(), Script(verb))
        for case in {case for case in cases if failed_at[case]}:
            run(case, own_store, verb)
    print(f"{verb}.lua: {len(tried) - len(survivors)} of {len(tried)} mutants killed, of {len(mutants)} that there are")
    assert not survivors, "\n".join(["no test fails for", *map(str, survivors)])


def cases_of(module: ModuleType, **wanted: object) -> Iterator[Case]:
    """The module's tests as functions of a CheckedItem, one for each set of parameters that has the wanted ones."""
    for name, function in vars(module).items():
        if name.startswith("test_"):
            marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
            for arguments in itertools.product(*[list(arguments_of(*mark.args)) for mark in marks]):
                merged = {key: value for part in arguments for key, value in part.items()}
                if wanted.items() <= merged.items():
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


def killer_of(
    seconds: dict[Case, float], cases: list[Case], own_store: OwnStore, verb: str, failures: Counter[Cause]
) -> Case | None:
    """The first test that fails, and not because the store was late on a busy machine; None where all pass.

    How long each takes that passes is noted in `seconds`.
    """
    for case in cases:
        for _attempt in range(ATTEMPTS_MAX):
            began_s = time.perf_counter()
            try:
                run(case, own_store, verb)
                seconds[case] = time.perf_counter() - began_s
                break
            except (Exception, pytest.fail.Exception):
                if not failures[Cause.TIMEOUT]:
                    return case
                wait_until(store_answers, seconds_max=60)
                failures.clear()
        else:
            raise TimeoutError(f"the store was late {ATTEMPTS_MAX} times")
    return None


def run(case: Case, own_store: OwnStore, verb: str) -> None:
    """Try the test with its script in the store: another test may have lost all scripts.

    Of two scripts in one atom the first takes effect without the second, and both are called again. So a test of both
    would fail for every mutant while the damaged one is missing.
    """
    own_store.client.script_load(getattr(scripts, verb.upper()).source)
    case(CheckedItem(own_store, only=verb))
