"""How many accounts of one network or device get passes of a sale, counted in the cache server until the sale is over.

One script asks both and then adds, so of many calls at once no more get in than may. While the cache server is away,
all do.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import structlog
from django.conf import settings
from django_redis import get_redis_connection

from shop.background.outages import AWAY

log = structlog.get_logger(__name__)

# KEYS: a set of account ids for each place. ARGV: the account, seconds to keep them, how many there may be in each.
SCRIPT = """
for number, place in ipairs(KEYS) do
  local is_in = redis.call('SISMEMBER', place, ARGV[1]) == 1
  if not is_in and redis.call('SCARD', place) >= tonumber(ARGV[number + 2]) then return 0 end
end
for _, place in ipairs(KEYS) do
  if redis.call('SADD', place, ARGV[1]) == 1 then redis.call('EXPIRE', place, ARGV[2]) end
end
return 1
"""


def let_in(*, sale_id: int, places: Mapping[str, int], buyer_id: int, keep_seconds: int) -> bool:
    """Whether the account is one of the first of each of its places: networks and devices, each with its bound.

    An account that one of them refuses is counted in none.
    """
    if not places:
        return True
    keys = [key(sale_id, place) for place in places]
    try:
        answer = script()(keys=keys, args=[buyer_id, max(1, keep_seconds), *places.values()], client=connection())
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
