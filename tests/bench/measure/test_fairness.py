"""The measurement of fairness, small: sums add up, the seed decides, and what must win wins."""

import re
from collections.abc import Iterable

import pytest

from bench.measure.fairness import crowd, shares
from bench.measure.fairness.crowd import RULES, Buyer
from bench.measure.fairness.shares import Line, Round, measure
from bench.measure.fairness.ways import WAYS, SumsDiffer, checked
from seckill.guards import proof_of_work
from seckill.models import Draw, SaleItem
from tests.steps.operating import run_command

pytestmark = pytest.mark.django_db

UNITS, HONEST = 6, 30


def by_name(lines: Iterable[Line]) -> dict[tuple[str, str], Line]:
    return {(line.way, line.rule): line for line in lines}


def test_each_way_gives_all_units_to_somebody_and_a_fast_script_gets_what_its_accounts_may_have() -> None:
    found = by_name(measure(honest=HONEST, units=UNITS, accounts=[1, 12], rounds=1, seed=1, try_seconds=0.0003))
    assert len(found) == 3 * len(RULES) - 1
    for line in found.values():
        for accounts, rounds in line.rounds.items():
            assert [one.script_units + one.honest_units for one in rounds] == [UNITS]
            assert all(one.script_units <= accounts for one in rounds)
            assert all(one.honest_refused <= one.honest_asked <= HONEST for one in rounds)

    def units(way: str, rule: str = "none") -> list[list[int]]:
        return [[one.script_units for one in rounds] for rounds in found[way, rule].rounds.values()]

    first, room, draw = WAYS
    assert units(first) == [[1], [6]]
    assert units(first, "proof of work") == units(first)
    assert units(first, "5 accounts of a network") == [[1], [5]]
    assert all(units(way, "accounts of a week or older") == [[0]] * 2 for way in WAYS)
    assert all(of_round < UNITS for way in (room, draw) for rounds in units(way) for of_round in rounds)
    computed = [one.script_seconds for rounds in found[first, "proof of work"].rounds.values() for one in rounds]
    assert min(computed) > 0
    # Nine honest buyers share an office.
    assert {one.honest_refused for one in found[first, "5 accounts of a network"].rounds[1]} == {4}
    # One of ten honest buyers has a new account.
    assert {one.honest_refused for one in found[first, "accounts of a week or older"].rounds[1]} == {HONEST // 10}


def test_where_computing_is_slow_a_script_has_few_proofs_in_time() -> None:
    """Two minutes of one core for each proof: five or so are ready when the sale opens, and those of honest buyers."""
    lines = measure(honest=HONEST, units=UNITS, accounts=[12], rounds=2, seed=1, try_seconds=0.06)
    slow = next(line for line in lines if line.rule == "proof of work").rounds[12]
    assert all(0 < one.script_units < UNITS for one in slow)
    assert all(one.honest_seconds > one.honest_asked for one in slow)


def test_winners_whom_the_store_does_not_know_or_a_room_does_not_let_in_are_no_result(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SumsDiffer, match="1 winners, but the store says"):
        checked(item, [Buyer(1, "home 1", is_script=False)])
    monkeypatch.setattr("bench.measure.fairness.ways.why_not_let_in", lambda **_: "not yet")
    with pytest.raises(SumsDiffer, match="is not let in"):
        list(measure(honest=2, units=1, accounts=[1], rounds=1, seed=1, try_seconds=0.0003))


def test_a_line_of_the_table_has_shares_and_means() -> None:
    rounds = [Round(1, 3, 10, 4, 60.0, 20.0), Round(3, 1, 10, 0, 180.0, 40.0)]
    assert Line("way", "rule", {2: rounds}).cells() == ["way", "rule", "50.0%", "20%", "2 min", "3.0 s"]


def test_the_seed_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "RULES", RULES[:2])
    first, again, other = (
        list(measure(honest=10, units=3, accounts=[3], rounds=1, seed=seed, try_seconds=0.0003)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    of_first, of_again, of_other = Draw.objects.order_by("pk").values_list("seed", flat=True)
    assert of_first == of_again != of_other


def test_the_command_prints_the_seed_and_a_row_for_each_way_and_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "RULES", RULES[:2])
    monkeypatch.setattr(crowd, "PROOFS_MEASURED", 1)
    # One of the usual work takes a second.
    monkeypatch.setattr(proof_of_work, "TRIES", 20)
    options = ("--accounts", "2", "--honest", "10", "--units", "2", "--rounds", "1", "--seed", "7")
    first, of_try, *table = run_command("fairness", *options).strip().splitlines()
    assert first == "honest 10, units 2, accounts [2], rounds 1, seed 7"
    assert re.fullmatch(r"one try of a proof takes [\d.]+ ms of a core", of_try)
    # An entry of a draw needs no proof.
    assert len(table) == 2 + 2 * 3 - 1
