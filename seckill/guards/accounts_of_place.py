"""How many accounts of one network or device get passes of a sale, counted in the cache server until the sale is over.

One script asks both and then adds, so of many calls at once no more get in than may. All counts of a sale are one hash,
so that they end together: each call prolongs all of them, where the sale was prolonged. While the cache server is away,
everybody gets in.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import structlog
from django_redis import get_redis_connection

from shop.background.outages import AWAY
from shop.configuration.quick_setting import secret_keys

log = structlog.get_logger(__name__)

# KEYS: the hash of a sale, in which each mark has the number of its accounts, and each account of a mark a field.
# ARGV: the account, seconds to keep the hash, how many marks each place has; then for each place how many accounts
# there may be, and its marks: by the current secret key, which are added to, and by the former ones.
SCRIPT = """
local sale, account, seconds, marks = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lets_in, new = 1, {}
for place = 4, #ARGV, marks + 1 do
  local is_in, count = false, 0
  for number = place + 1, place + marks do
    is_in = is_in or redis.call('HEXISTS', sale, ARGV[number] .. ':' .. account) == 1
    count = count + tonumber(redis.call('HGET', sale, ARGV[number]) or 0)
  end
  if not is_in then
    table.insert(new, ARGV[place + 1])
    if count >= tonumber(ARGV[place]) then lets_in = 0 end
  end
end
if lets_in == 1 then
  for _, mark in ipairs(new) do
    redis.call('HSET', sale, mark .. ':' .. account, '')
    redis.call('HINCRBY', sale, mark, 1)
  end
end
if redis.call('TTL', sale) < seconds then redis.call('EXPIRE', sale, seconds) end
return lets_in
"""


def let_in(*, sale_id: int, places: Mapping[str, int], buyer_id: int, keep_seconds: int) -> bool:
    """Whether each place of the account, its network and its device, is still below its bound, or has it already.

    An account that one of them refuses is counted in none.
    """
    if not places:
        return True
    args: list[int | str] = [buyer_id, max(1, keep_seconds), len(secret_keys())]
    for place, accounts_max in places.items():
        args += [accounts_max, *marks_of(place)]
    try:
        answer = script()(keys=[key(sale_id)], args=args, client=connection())
    except AWAY as error:
        log.warning("accounts_of_place_not_counted", error=type(error).__name__)
        return True
    return bool(answer == 1)


def key(sale_id: int) -> str:
    return f"seckill.guards.accounts:{sale_id}"


def marks_of(place: str) -> list[str]:
    """The cache server has no addresses, only what is needed to count. First the mark by the current secret key."""
    return [
        blake2b(place.encode(), digest_size=12, key=secret.encode()[:64], person=b"guard-place").hexdigest()
        for secret in secret_keys()
    ]


def connection() -> Any:
    return get_redis_connection("default")


@lru_cache(maxsize=1)
def script() -> Any:
    return connection().register_script(SCRIPT)
