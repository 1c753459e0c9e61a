"""How many accounts of one network or device get passes of a sale, counted in the cache server until the sale is over.

One script asks and adds, so of many calls at once no more get in than may. While the cache server is away, all do.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import structlog
from django.conf import settings
from django_redis import get_redis_connection

from shop.background.outages import AWAY

log = structlog.get_logger(__name__)

# KEYS[1] a set of account ids. ARGV: the account, how many there may be, seconds to keep them.
SCRIPT = """
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""


def let_in(*, sale_id: int, place: str, buyer_id: int, accounts_max: int, keep_seconds: int) -> bool:
    """Whether the account is one of the first `accounts_max` of its place. `place` is a network or a device."""
    try:
        answer = script()(
            keys=[key(sale_id, place)], args=[buyer_id, accounts_max, max(1, keep_seconds)], client=connection()
        )
    except AWAY as error:
        log.warning("accounts_of_place_not_counted", error=type(error).__name__)
        return True
    return bool(answer == 1)


def key(sale_id: int, place: str) -> str:
    """The cache server has no addresses, only what is needed to count."""
    mark = blake2b(place.encode(), digest_size=12, key=settings.SECRET_KEY.encode()[:64], person=b"guard-place")
    return f"seckill.guards.accounts:{sale_id}:{mark.hexdigest()}"


def connection() -> Any:
    return get_redis_connection("default")


@lru_cache(maxsize=1)
def script() -> Any:
    return connection().register_script(SCRIPT)
