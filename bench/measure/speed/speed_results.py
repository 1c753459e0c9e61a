"""The results as JSON: medians with their spread, the verdicts, what a request costs, and every round."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from bench.machine import facts
from bench.measure.speed.part import Sample
from bench.measure.speed.ratios import Spread, Verdict, spread
from bench.measure.speed.rounds import Outcome
from bench.measure.speed.wrk import CONNECTIONS, find_wrk


def everything(
    outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], *, measured_on: Mapping[str, str]
) -> dict[str, Any]:
    """All results, ready to be written as JSON."""
    return {
        "machine": measured_on,
        "parts": {outcome.part.name: part_of(outcome) for outcome in outcomes},
        "targets": [target_of(verdict) for verdict in verdicts],
    }


def as_json(results: Mapping[str, Any]) -> str:
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def part_of(outcome: Outcome) -> dict[str, Any]:
    samples = list(outcome.samples.values())
    return {
        "title": outcome.part.title,
        "wrong": outcome.wrong,
        "figures": {name: asdict(found) for name, found in spreads_of(samples).items()},
        "rounds": [{"requests": sample.requests, **sample.by_name()} for sample in samples],
    }


def spreads_of(samples: Sequence[Sample]) -> dict[str, Spread]:
    rows = [sample.by_name() for sample in samples]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: spread([row[name] for row in rows if name in row]) for name in names}


def target_of(verdict: Verdict) -> dict[str, Any]:
    target = verdict.target
    return {
        "title": target.title,
        "bound": target.bound,
        "at_most": target.at_most,
        "unit": target.unit,
        "values": list(verdict.values),
        "median": verdict.median,
        "reached": verdict.reached,
    }


def machine(*, rounds: int, seconds: int, versions: Mapping[str, str]) -> dict[str, str]:
    words = subprocess.run([find_wrk(), "--version"], capture_output=True, text=True, check=False).stdout.split()
    return {
        **facts(),
        "granian": version("granian"),
        "Django": version("django"),
        "wrk": words[1] if len(words) > 1 else "unknown",
        **versions,
        "connections": str(CONNECTIONS),
        "rounds": f"{rounds} × {seconds} s",
    }
