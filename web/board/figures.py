"""The figures of a sale's live board, as JSON: made about once a second, by one process for all who look at it.

Each part comes from one server: answers from the cache, units and waiting reservations from the reservation store,
orders from PostgreSQL. While a server is away, its part is what it said last, and the JSON says of when that is. No SQL
is needed to ask, so boards go on while PostgreSQL is away.

The process that made an answer leaves it in the cache for the other processes. While the cache is away each makes its
own.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count

from orders.life.draw_results import count_paid
from orders.models import OrderLine
from orders.report.order_figures import WAS_PAID
from seckill import ledger
from seckill.items.archive import counters_outside_store
from seckill.ledger import Counters
from seckill.line.line_ledger import count_waiting
from seckill.live import answer_counts
from seckill.live.answer_groups import GROUPS
from seckill.models import Sale, SaleChange
from seckill.outbox import outbox
from seckill.outbox.outbox import Waiting
from seckill.staff.draw_figures import draw_numbers
from seckill.staff.phase_filter import state_of
from seckill.staff.room_figures import room_numbers
from shop.background.bounded_thread import BoundedThread
from shop.times.timestamps import now_ms
from web.board.source import Source

# So many seconds a board looks back.
SHOWN_SECONDS = 120
# Processes write a second's counts just after its end, a busy one somewhat later; until then they are read again.
WRITTEN_AFTER_SECONDS = 2
READ_AGAIN_SECONDS = 6
# How old the figures are at most when nothing is away; and how long a server is waited for.
FRESH_SECONDS = 0.9
# And how old while somebody's call makes new ones: screens ask at the same moment, and one making is enough.
STALE_SECONDS = 2.0
ANSWER_SECONDS = 0.7
# How long an answer that another process has made is waited for.
SHARED_ANSWER_SECONDS = 0.1
# Asking PostgreSQL takes a process longer than all the rest, since it connects each time.
DATABASE_REST_SECONDS = 2.0
# A board that nobody has looked at for so long is forgotten.
UNSEEN_SECONDS = 60.0

# Not those of /metrics: a board must not wait for a scrape.
THREADS = {name: BoundedThread(name=f"board-{name}") for name in ("cache", "reservation_store", "database")}


@dataclass(frozen=True, slots=True)
class Answers:
    """By item and word since the sale began, and by second and word."""

    of_items: dict[int, dict[str, int]]
    of_seconds: dict[int, Counter[str]]


@dataclass(frozen=True, slots=True)
class Units:
    """By item. An item is missing while its server of the store is silent, and None while nothing can be reserved."""

    counters: dict[int, Counters | None]
    waiting: dict[int, Waiting]
    in_line: dict[int, int]
    # Of a waiting room.
    room: dict[str, int | str | None]


@dataclass(frozen=True, slots=True)
class Orders:
    """By item: orders, and paid ones among them; the counters of archived items. `version` changes with the sale.

    `draw` has the figures of a draw.
    """

    counts: dict[int, tuple[int, int]]
    archived: dict[int, Counters]
    draw: dict[str, int | str]
    has_room: bool
    version: str


class Board:
    """One sale. `item_ids` never change, since a published sale keeps its items."""

    def __init__(self, *, sale_id: int, item_ids: Sequence[int]) -> None:
        self.seen_s = time.monotonic()
        self._sale_id, self._item_ids = sale_id, item_ids
        self._lock = threading.Lock()
        self._made_s = -STALE_SECONDS
        self._is_being_made = False
        self._body = b""
        # What another process has made, and until when by the monotonic clock it is fresh; None if there is nothing.
        self._shared: Source[tuple[bytes, float] | None] = Source("board: other processes", THREADS["cache"])
        self._cache: Source[Answers] = Source("board: cache", THREADS["cache"])
        self._store: Source[Units] = Source("board: store", THREADS["reservation_store"])
        self._database: Source[Orders] = Source(
            "board: database", THREADS["database"], rest_seconds=DATABASE_REST_SECONDS
        )
        # What each said last.
        self._answers = Answers({}, {})
        self._units = Units({}, {}, {}, {})
        self._orders = Orders({}, {}, {}, has_room=False, version="")
        # Seconds in which the cache was away, so that nobody knows what was asked.
        self._lost: set[int] = set()
        # One range for a whole answer: a second may end while it is made.
        self._shown = shown_seconds()

    def json(self) -> bytes:
        """Everybody who asks meanwhile waits for one answer, and gets it."""
        with self._lock:
            self.seen_s = time.monotonic()
            if self.seen_s - self._made_s >= FRESH_SECONDS:
                if not self._take_shared():
                    self._refresh()
                    self._body = json.dumps(self._content(), separators=(",", ":")).encode()
                    self._made_s = time.monotonic()
                    if self._cache.is_up:
                        share(self._sale_id, self._body)
                self._is_being_made = False
            return self._body

    def json_in_memory(self) -> bytes | None:
        """The last answer; None if the caller has to call `json`, which makes a new one. It waits for nothing."""
        now_s = time.monotonic()
        if now_s - self._made_s >= (STALE_SECONDS if self._is_being_made else FRESH_SECONDS):
            self._is_being_made = True
            return None
        self.seen_s = now_s
        return self._body

    def _take_shared(self) -> bool:
        """Take over a fresh answer of another process. False if there is none."""
        if not self._cache.is_up:
            return False
        sale_id = self._sale_id
        self._shared.ask(lambda: read_shared(sale_id))
        found = self._shared.answer(until_s=time.monotonic() + SHARED_ANSWER_SECONDS)
        if found is None or time.monotonic() >= found[1]:
            return False
        self._body, self._made_s = found[0], found[1] - FRESH_SECONDS
        return True

    def _refresh(self) -> None:
        self._shown = shown_seconds()
        item_ids, seconds = self._item_ids, self._seconds_to_read()
        self._cache.ask(lambda: read_answers(item_ids, seconds))
        # PostgreSQL has said by the second time whether there is a room.
        room_of = self._sale_id if self._orders.has_room else None
        self._store.ask(lambda: read_units(item_ids, room_of))
        self._database.ask(lambda: read_orders(self._sale_id))
        until_s = time.monotonic() + ANSWER_SECONDS
        self._store_answers(self._cache.answer(until_s=until_s))
        if units := self._store.answer(until_s=until_s):
            self._units = units
        if orders := self._database.answer(until_s=until_s):
            self._orders = orders

    def _seconds_to_read(self) -> list[int]:
        shown, known = self._shown, self._answers.of_seconds
        return [second for second in shown if second not in known or second > shown[-1] - READ_AGAIN_SECONDS]

    def _store_answers(self, answers: Answers | None) -> None:
        shown = self._shown
        if answers is not None:
            kept = {second: counts for second, counts in self._answers.of_seconds.items() if second in shown}
            self._answers = Answers(answers.of_items, {**kept, **answers.of_seconds})
        if not self._cache.is_up:
            self._lost.add(shown[-1])
        self._lost.intersection_update(shown)

    def _content(self) -> dict[str, Any]:
        shown, of_seconds = self._shown, self._answers.of_seconds
        known = [None if second in self._lost else of_seconds.get(second) for second in shown]
        minute: Counter[str] = Counter()
        for counts in known[-60:]:
            minute.update(counts or {})
        return {
            "now_ms": now_ms(),
            "sources": {
                "cache": self._cache.state,
                "reservation_store": self._store.state,
                "database": self._database.state,
            },
            "until_ms": (shown[-1] + 1) * 1000,
            "seconds": {
                group: [None if counts is None else sum(counts[word] for word in words) for counts in known]
                for group, words in GROUPS.items()
            },
            "minute": +minute,
            "more": {**self._orders.draw, **self._units.room},
            "items": {item_id: self._item(item_id) for item_id in self._item_ids},
            "version": self._orders.version,
        }

    def _item(self, item_id: int) -> dict[str, Any]:
        """A figure that nobody has said yet is missing. `left` None means unlimited."""
        found: dict[str, Any] = {}
        counters = self._orders.archived.get(item_id) or self._units.counters.get(item_id)
        if counters is not None:
            found |= {"left": counters.left, "held": counters.held, "sold": counters.sold}
        if waiting := self._units.waiting.get(item_id):
            found |= {"waiting": waiting.entries, "lag_ms": waiting.oldest_ms}
        if item_id in self._units.in_line:
            found["in_line"] = self._units.in_line[item_id]
        if item_id in self._orders.counts:
            found["orders"], found["paid"] = self._orders.counts[item_id]
        if words := self._answers.of_items.get(item_id):
            found["words"] = {word: count for word, count in words.items() if count}
        return found


def shown_seconds() -> range:
    last = int(time.time()) - WRITTEN_AFTER_SECONDS
    return range(last - SHOWN_SECONDS + 1, last + 1)


def read_shared(sale_id: int) -> tuple[bytes, float] | None:
    """How old it is, the cache server says: the clocks of hosts differ."""
    text: str | None = cache.get(key_of(sale_id))
    if text is None:
        return None
    left_ms: int = cache.pttl(key_of(sale_id))  # type: ignore[attr-defined]
    return text.encode(), time.monotonic() + left_ms / 1000


def share(sale_id: int, body: bytes) -> None:
    """In the thread: no viewer waits for it. If it fails, another process makes its own."""
    THREADS["cache"].begin(lambda: cache.set(key_of(sale_id), body.decode(), timeout=FRESH_SECONDS))


def key_of(sale_id: int) -> str:
    return f"board.figures.{sale_id}"


def read_answers(item_ids: Sequence[int], seconds: Sequence[int]) -> Answers:
    return Answers(answer_counts.of_items(item_ids), answer_counts.of_seconds(item_ids, seconds))


def read_units(item_ids: Sequence[int], room_of: int | None) -> Units:
    """`room_of` is the sale if it has a waiting room. Raises StoreUnreachable."""
    in_line = count_waiting(item_ids=item_ids)
    room = room_numbers(room_of) if room_of is not None else {}
    return Units(ledger.read_many(item_ids=item_ids), outbox.waiting(item_ids=item_ids), in_line, room)


def read_orders(sale_id: int) -> Orders:
    sale = Sale.objects.get(pk=sale_id)
    items = list(sale.items.select_related("sale"))
    lines = OrderLine.objects.filter(sale_item__in=items).values_list("sale_item")
    counted = lines.annotate(orders=Count("pk"), paid=Count("pk", filter=WAS_PAID))
    counts = {item.pk: (0, 0) for item in items} | {item_id: (orders, paid) for item_id, orders, paid in counted}
    changes = SaleChange.objects.filter(item__sale=sale).order_by("-pk").values_list("pk", "status")
    archived = {item.pk: counters_outside_store(item, now=sale.closes_at) for item in items if item.archived_at}
    draw = draw_of(sale_id) if sale.has_draw else {}
    version = f"{state_of(sale)} {changes.first() or ''}"
    return Orders(counts, archived, draw, has_room=sale.has_room, version=version)


def draw_of(sale_id: int) -> dict[str, int | str]:
    """Its figures on the sale's page, and how many winners have paid or are asked to. Three statements."""
    found, paid = draw_numbers(sale_id), count_paid(sale_id=sale_id)
    asked = int(found["draw_won"]) - int(found["draw_unreserved"]) - paid
    return found | {"draw_paid": paid, "draw_asked": max(asked, 0)}


class Boards:
    """The boards of this process that somebody looks at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boards: dict[int, Board] = {}

    def looked_at(self, sale_id: int) -> Board | None:
        return self._boards.get(sale_id)

    def find(self, *, sale_id: int, item_ids: Sequence[int]) -> Board:
        with self._lock:
            board = self._boards.get(sale_id)
            if board is None:
                now_s = time.monotonic()
                self._boards = {pk: one for pk, one in self._boards.items() if now_s - one.seen_s < UNSEEN_SECONDS}
                board = self._boards[sale_id] = Board(sale_id=sale_id, item_ids=item_ids)
            return board
