"""How many calls to reserve were answered with which word: for each item, minute and second, in all web processes.

An answer is counted where it is made: by the gate, by the hot lane, or by `reservation.reserve` for a view. Counting
adds to a dict of the process. Once a second a thread adds the sums to those of all processes in the cache server, in
one write. While that server is away the sums of this time are lost: they are figures to look at, and a write whose
answer did not come must not be repeated.

Refusals by a rule of the sale are counted beside them, under the rule's word (`rule_names`). They are no answers
to calls to reserve, so a sum over all answers is one over WORDS (`asked`).
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from django_redis import get_redis_connection

from seckill.items.shadow import is_shadow
from seckill.outcomes import Outcome
from shop.background.lazy_thread import LazyThread
from shop.background.outages import AWAY, go_on, wait
from shop.background.process_counts import ProcessCounts

# A call that got no answer of these: no thread was free for it, or the shop made a mistake.
ERROR = "error"
WORDS = (*(outcome.value for outcome in Outcome), ERROR)

# Seconds are kept for boards that look back, minutes and the sums of an item for a report after the sale. An item that
# people ask for day and night has some thousand counts of minutes a day.
SECOND_KEPT_SECONDS = 20 * 60
DAY_SECONDS = 24 * 3600
MINUTE_KEPT_SECONDS = 14 * DAY_SECONDS
ITEM_KEPT_SECONDS = 60 * DAY_SECONDS

ALL = "seckill.answers"


class AnswerCounts:
    """Those of one process, and the thread that adds them to the others'."""

    def __init__(self) -> None:
        self._counts: ProcessCounts[tuple[int, str]] = ProcessCounts()
        self._writer = LazyThread(self._write_at_end_of_second, name="answer-counts")

    def add(self, item_id: int, word: str) -> None:
        """Count one answer. Returns at once and never raises. `item_id` is one that the shop has: each is kept."""
        self._counts.add((item_id, word))
        self._writer.wake()

    def write(self, *, second: int) -> None:
        """Add what was counted since the last time to the sums of all processes, as of this second since 1970."""
        counts = self._counts.take_new()
        if not counts:
            return
        try:
            add_to_sums(counts, second=second)
        except AWAY as error:
            wait("answer_counts", error)
        else:
            go_on("answer_counts")

    def _write_at_end_of_second(self) -> None:
        """All processes write at the same moment, so that a second has the counts of all of them."""
        second = int(time.time())
        time.sleep(max(second + 1 - time.time(), 0.0))
        self.write(second=second)


def add_to_sums(counts: Mapping[tuple[int, str], int], *, second: int) -> None:
    """One round trip. Answers of rehearsals are no figures of the shop."""
    counts = {(item_id, word): count for (item_id, word), count in counts.items() if not is_shadow(item_id)}
    pipeline = get_redis_connection("default").pipeline(transaction=False)
    for (item_id, word), count in counts.items():
        pipeline.hincrby(key_of_second(item_id, second), word, count)
        pipeline.hincrby(key_of_day(item_id, second // DAY_SECONDS), f"{second // 60} {word}", count)
        pipeline.hincrby(key_of(item_id), word, count)
        pipeline.hincrby(ALL, word, count)
    for item_id in {item_id for item_id, _word in counts}:
        pipeline.expire(key_of_second(item_id, second), SECOND_KEPT_SECONDS)
        pipeline.expire(key_of_day(item_id, second // DAY_SECONDS), MINUTE_KEPT_SECONDS)
        pipeline.expire(key_of(item_id), ITEM_KEPT_SECONDS)
    pipeline.execute()


def in_all() -> dict[str, int]:
    """How often each word was answered, since the cache server was last emptied."""
    counts = by_word(get_redis_connection("default").hgetall(ALL))
    return {word: counts[word] for word in WORDS}


def of_items(item_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """The same for each of the items."""
    return dict(zip(item_ids, read_all(key_of(item_id) for item_id in item_ids), strict=True))


def of_seconds(item_ids: Sequence[int], seconds: Sequence[int]) -> dict[int, Counter[str]]:
    """The same for each of the seconds since 1970, of all the items together."""
    pairs = [(second, item_id) for second in seconds for item_id in item_ids]
    found: dict[int, Counter[str]] = {second: Counter() for second in seconds}
    answers = read_all(key_of_second(item_id, second) for second, item_id in pairs)
    for (second, _item_id), counts in zip(pairs, answers, strict=True):
        found[second].update(counts)
    return found


def of_minutes(item_ids: Sequence[int], *, first: int, last: int) -> dict[int, Counter[str]]:
    """The same for each minute since 1970 in which somebody asked, of all the items together.

    A hash for each day, so that no answer of the server is large. Older days than are kept are not asked for.
    """
    oldest = int(time.time() - MINUTE_KEPT_SECONDS) // 60
    days = range(max(first, oldest) * 60 // DAY_SECONDS, last * 60 // DAY_SECONDS + 1)
    found: dict[int, Counter[str]] = {}
    for counts in hashes_of(key_of_day(item_id, day) for day in days for item_id in item_ids):
        for field, count in counts.items():
            minute, word = field.decode().split(" ")
            if first <= int(minute) <= last:
                found.setdefault(int(minute), Counter())[word] += int(count)
    return found


def read_all(keys: Iterable[str]) -> list[dict[str, int]]:
    return [by_word(found) for found in hashes_of(keys)]


def hashes_of(keys: Iterable[str]) -> list[dict[bytes, bytes]]:
    """In one round trip."""
    pipeline = get_redis_connection("default").pipeline(transaction=False)
    for key in keys:
        pipeline.hgetall(key)
    found: list[dict[bytes, bytes]] = pipeline.execute()
    return found


def by_word(found: Mapping[bytes, bytes]) -> dict[str, int]:
    return {**dict.fromkeys(WORDS, 0), **{word.decode(): int(count) for word, count in found.items()}}


def asked(counts: Mapping[str, int]) -> int:
    """How many calls to reserve these are."""
    return sum(counts.get(word, 0) for word in WORDS)


def key_of(item_id: int) -> str:
    return f"{ALL}.{item_id}"


def key_of_second(item_id: int, second: int) -> str:
    return f"{ALL}.{item_id}.{second}"


def key_of_day(item_id: int, day: int) -> str:
    return f"{ALL}.{item_id}.day.{day}"


answer_counts = AnswerCounts()
