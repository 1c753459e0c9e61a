"""Prints a schedule step by step: who does what, what each buyer sees, what the store holds, what it shows."""

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.lab.schedules import atomic_schedules, counter_schedules, lock_schedules
from bench.lab.schedules.interleaver import BuyerStep, Interleaver, ServerUrls, SideEvent, interleaved, scripts_of
from bench.lab.schedules.schedule import TRIES_MAX, Schedule
from bench.lab.schedules.stepped_buyer import CLOCK, SLEEP
from bench.lab.schedules.traced_store import WAIT
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Answer
from bench.strategies.locks.locked_stock import LockedStock
from shop.languages.translations import compile_translations

SCHEDULES: tuple[Schedule, ...] = (*counter_schedules.SCHEDULES, *lock_schedules.SCHEDULES, *atomic_schedules.SCHEDULES)

LOCALE = Path(__file__).parents[2] / "locale"

# The prefix of the keys of a schedule, which is not printed.
NAME = "lab"

ANSWERS: dict[Answer, Any] = {
    Answer.SOLD: gettext_lazy("answer: sold"),
    Answer.REFUSED: gettext_lazy("answer: refused"),
    Answer.BUSY: gettext_lazy("answer: busy"),
}


def schedules_of(strategy_id: str) -> list[Schedule]:
    """The schedules of a strategy; empty if no schedule breaks it."""
    return [schedule for schedule in SCHEDULES if schedule.strategy.id == strategy_id]


def show(strategy_id: str, console: Console, *, language: str | None, store_url: str) -> bool:
    """Run the schedules of a strategy on this store, and print them.

    `language` is en or zh-hans; without it, the active one. Returns whether each schedule showed what it should.
    Raises KeyError for an unknown strategy.
    """
    strategy = BY_ID[strategy_id]
    compile_translations(locale=LOCALE)
    with translation.override(language or translation.get_language()):
        if not schedules_of(strategy_id):
            console.print(Text(_("No schedule is known that breaks %(strategy)s.") % {"strategy": strategy.id}))
            return True
        return _show_all(strategy_id, console, ServerUrls(store_url=store_url))


def staged(schedule: Schedule, urls: ServerUrls, *, name: str = NAME) -> AbstractContextManager[Interleaver]:
    """The interleaver for a schedule, for the length of a `with`."""
    return interleaved(
        schedule.strategy,
        urls,
        name=name,
        stock=schedule.stock,
        units=dict(schedule.units),
        tries_max=TRIES_MAX if issubclass(schedule.strategy, LockedStock) else None,
    )


class SlowMotion:
    """The table of one schedule, filled while it runs."""

    def __init__(self, schedule: Schedule, sale: Interleaver) -> None:
        self.sale = sale
        self.table = Table(title=f"{schedule.strategy.id} · {schedule.id}", title_justify="left", expand=False)
        self.table.add_column("#", justify="right")
        for heading in (_("who"), _("does"), _("sees"), _("the store holds")):
            self.table.add_column(heading, overflow="fold")
        self.conclusion: list[Text] = []
        self._scripts = {sha: name for sha, (name, _source) in scripts_of(schedule.strategy).items()}

    def add(self, event: BuyerStep | SideEvent) -> None:
        row = self._side_event(event) if isinstance(event, SideEvent) else self._buyer_step(event)
        self.table.add_row(str(self.table.row_count + 1), *(Text(cell) for cell in row), Text(self._store_content()))

    def conclude(self, schedule: Schedule, *, shown: bool) -> None:
        left = self.sale.left()
        counts = {"stock": schedule.stock, "sold": self.sale.sold, "left": "–" if left is None else left}
        self.conclusion = [
            Text(_("Stock %(stock)s, sold %(sold)s, left %(left)s.") % counts),
            Text(str(schedule.conclusion) if shown else _("This schedule did not show what it should."), style="bold"),
        ]

    def _side_event(self, event: SideEvent) -> tuple[str, str, str]:
        return "", str(event.text), "" if event.seen is None or event.seen is True else self._plain(event.seen)

    def _buyer_step(self, event: BuyerStep) -> tuple[str, str, str]:
        does = self._command(event.command)
        if event.killed:
            return event.who, does, _("† killed before this")
        sees = [] if event.seen is None else [self._plain(event.seen)]
        if event.blocked:
            sees = [_("waits for a row locked by another buyer")]
        if isinstance(event.answer, Answer):
            sees.append(str(ANSWERS[event.answer]))
        return event.who, does, " → ".join(sees)

    def _command(self, command: tuple[Any, ...]) -> str:
        if command[0] == CLOCK:
            return _("looks at its clock")
        if command[0] == SLEEP:
            return _("sleeps for %(seconds)s s") % {"seconds": command[1]}
        if command[0] == WAIT:
            return _("waits for a message, %(seconds)s s at most") % {"seconds": command[1]}
        if command[0] == "EVALSHA":
            keys = int(command[2])
            name = self._scripts.get(command[1], command[1])
            command = ("Lua", name, *command[3 : 3 + keys], "|", *command[3 + keys :])
        return " ".join(map(self._plain, command))

    def _store_content(self) -> str:
        content = []
        for key in self.sale.own_keys():
            name, value = self._plain(key), self._value(key)
            left_ms = self.sale.client.pttl(key)
            ends = f" ({round(left_ms / 1000)} s)" if left_ms >= 0 else ""
            content.append(f"{name}={value}{ends}")
        return "  ".join(content) or "–"

    def _value(self, key: bytes) -> str:
        client = self.sale.client
        match client.type(key):
            case b"hash":
                return self._plain(client.hgetall(key))
            case b"list":
                return self._plain(client.lrange(key, 0, -1))
            case b"set":
                return self._plain(sorted(client.smembers(key)))
            case b"zset":
                return self._plain(client.zrange(key, 0, -1))
        return self._plain(client.get(key))

    def _plain(self, value: Any) -> str:
        """The value as text, without the prefix of names, and with the letters of buyers for the owners of locks."""
        if isinstance(value, Promise | str):
            text = str(value)
        elif isinstance(value, bytes):
            text = value.decode()
        elif isinstance(value, dict):
            text = ", ".join(f"{self._plain(name)}×{self._plain(count)}" for name, count in value.items())
        elif isinstance(value, list | tuple | set):
            text = " ".join(map(self._plain, value)) or "∅"
        elif isinstance(value, Exception):
            text = f"{type(value).__name__}: {value}"
        else:
            text = str(value)
        for who, strategy in self.sale.strategies.items():
            if identity := getattr(strategy, "_id", None):
                text = re.sub(rf"{identity}:\d+", who, text)
        return text.replace(f"{{{self.sale.name}}}:", "").replace(f"{self.sale.name}:", "")


def _show_all(strategy_id: str, console: Console, urls: ServerUrls) -> bool:
    shown = []
    for schedule in schedules_of(strategy_id):
        with staged(schedule, urls) as sale:
            slow_motion = SlowMotion(schedule, sale)
            sale.report = slow_motion.add
            shown.append(schedule.run(sale))
            slow_motion.conclude(schedule, shown=shown[-1])
        console.print(slow_motion.table)
        for line in slow_motion.conclusion:
            console.print(line)
        console.print()
    return all(shown)
