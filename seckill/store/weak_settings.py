"""How many servers have a setting that can lose what buyers were told, judged every minute, for /metrics.

A server may be set another way while a sale runs, or a replica may come back with settings of its own.
"""

from collections import Counter

from django.core.cache import cache

from seckill.store.durability import JUDGED_SETTINGS, find_weaknesses, outdated_choice

RESULT_KEY = "seckill.store.weak_settings"


def judge_settings() -> int:
    """Judge all servers and remember the result. Returns how many weaknesses there are.

    Raises StoreUnreachable and database errors.
    """
    found = Counter(weakness.setting for weakness in find_weaknesses())
    if outdated_choice():
        found["replicas"] += 1
    cache.set(RESULT_KEY, dict(found), timeout=None)
    return found.total()


def weak_servers() -> dict[str, int]:
    """By setting, how many servers have a weak value; empty if they have not been judged yet."""
    found = cache.get(RESULT_KEY)
    return {} if found is None else {setting: found.get(setting, 0) for setting in JUDGED_SETTINGS}
