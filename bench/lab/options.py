"""The options of the lab, and those that do not go together: `make lab` reads them before it starts its servers."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.argument_types import span, whole
from bench.lab.presets import EVERY, PRESETS
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Fault

DESCRIPTION = (
    "Lets buyers in real processes buy through each strategy at the same moment, from a Valkey that is started for "
    "this (strategies that use a database get tables of their own in PostgreSQL). Prints what each strategy sold, "
    "oversold, left unsold and cost. Without options it runs the preset classic-505. Exit code 1 if a strategy that is "
    "expected to be correct is not, or if one fails under a fault that it is expected to survive; 2 if options do not "
    "go together."
)

# With more, the run would measure the clients: they share the processors with the store.
PROCESSES_MAX = 16
CLIENTS_MAX = 64
BUYERS_MAX = 200_000
INTERLEAVE = "interleave"
# Those of bench/locale.
LANGUAGES = ("en", "zh-hans")

# Not the parser's defaults: an option that was given must be told from one that was not.
DEFAULTS = {"faults": (), "units": (1, 1), "processes": 4, "clients": 4, "seed": 1}
SIZE = ("stock", "units", "processes", "clients")


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    choices = [*PRESETS, INTERLEAVE]
    add("--preset", action="append", choices=choices, help="a prepared run; may be repeated")
    add("--interleave", metavar="STRATEGY", choices=EVERY, help="show its flaw in slow motion, step by step")
    add("--language", choices=LANGUAGES, help="language of the slow motion")
    add("--quick", action="store_true", help="small versions of the presets, all within a minute")
    add("--strategies", type=strategy_ids, metavar="A,B", help=f"only these, of: {', '.join(EVERY)}")
    add("--buyers", type=whole, metavar="N", help="instead of a preset: so many buyers, one attempt each")
    add("--stock", type=whole, metavar="N", help="with --buyers: units on sale (1 %% fewer than buyers)")
    add("--units", type=span, metavar="1-3", help="with --buyers: units that each asks for, such as 2 or 1-3 (1)")
    add("--processes", type=whole, metavar="N", help="with --buyers: processes of buyers (4)")
    add("--clients", type=whole, metavar="N", help="with --buyers: clients in each process (4)")
    add("--faults", type=fault_names, metavar="A,B", help=f"all, or some of: {', '.join(Fault)}")
    add("--seed", type=int, metavar="N", help="decides the order of the buyers and how much each asks for (1)")
    add("--http", action="store_true", help="run only the ledger, through the web API of the running shop")
    add("--json", type=Path, metavar="FILE", help="write all figures to this file")
    add("--plots", type=Path, metavar="DIR", help="draw the plots as SVG files in this directory")


def refusal_of(options: Mapping[str, Any]) -> str:
    """Why the options cannot be run; empty if they can. No option is ignored silently."""
    buyers, processes, clients = (options[name] or 0 for name in ("buyers", "processes", "clients"))
    if options["language"] and not options["interleave"] and INTERLEAVE not in (options["preset"] or ()):
        return "--language cannot be used without --interleave: it is the language of the slow motion."
    if options["http"]:
        ignored: Sequence[str] = ("preset", "interleave", "quick", "strategies", "faults", "plots")
        chosen = "with --http, which runs the ledger alone"
    elif options["interleave"]:
        ignored = ("preset", "strategies", "buyers", *SIZE, "faults", "seed", "json", "plots")
        chosen = "with --interleave, which shows one strategy in slow motion"
    elif buyers:
        ignored, chosen = ["preset"], "with --buyers, which describes another run"
    elif options["preset"] or not options["faults"]:
        ignored, chosen = [*SIZE, "faults"], "with a preset, which has its own; --buyers describes another run"
        names = options["preset"] or PRESETS
        if not any(PRESETS[name].settings for name in names if name != INTERLEAVE):
            ignored.append("seed")
    else:
        ignored, chosen = [*SIZE, "seed"], "with --faults alone, which has sales of its own"
    given = [f"--{name}" for name in ignored if options[name] is not None and options[name] is not False]
    if given:
        return f"{', '.join(given)} cannot be used {chosen}."
    if options["http"]:
        return ""  # `stampede` has bounds of its own
    if processes > PROCESSES_MAX or clients > CLIENTS_MAX:
        return f"At most {PROCESSES_MAX} processes of {CLIENTS_MAX} clients each."
    return f"At most {BUYERS_MAX:,} buyers." if buyers > BUYERS_MAX else ""


def with_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, and the usual values of those that were not given."""
    return {name: DEFAULTS.get(name) if value is None else value for name, value in options.items()}


def strategy_ids(text: str) -> tuple[str, ...]:
    """`a,b` as ids of strategies."""
    ids = tuple(text.split(","))
    unknown = [strategy_id for strategy_id in ids if strategy_id not in BY_ID]
    if unknown:
        raise ArgumentTypeError(f"no such strategy: {', '.join(unknown)}")
    return ids


def fault_names(text: str) -> tuple[Fault, ...]:
    """`all`, or `a,b` as faults."""
    try:
        return tuple(Fault) if text == "all" else tuple(Fault(name) for name in text.split(","))
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
