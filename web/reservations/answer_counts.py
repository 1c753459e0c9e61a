"""How many calls the gate has answered, by its word, in all processes: a counter for Prometheus."""

from shop.background.shared_counts import SharedCounts
from web.reservations.headers import WORDS

PREFIX = "seckill.gate.answers"

gate_answers = SharedCounts(prefix=PREFIX, thread_name="gate-counts")


def answer_counts() -> dict[str, int]:
    """How often each word was given, in all processes, since the cache server was last emptied."""
    return gate_answers.in_all_processes([str(word) for word in WORDS])
