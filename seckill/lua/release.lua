-- Puts the units of a hold back on sale, and no longer counts them for the buyer.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
-- ARGV
--   1 reservation_id   the id given to reserve; repeating the call with it is safe
--   2 reason           expired, cancelled or rejected release held units; refunded also releases sold ones
--   3 even_unverified  1 = also while the item is not verified, for a repair; empty = not then
-- RETURNS {word}
--   unavailable        the item, or a part of it, is missing, or the item is not verified
--   unknown_hold       the store has no such hold
--   already_released   the hold was released before; nothing was changed
--   already_confirmed  the units are sold, and the reason is not refunded; nothing was changed
--   released           the units are back on sale
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds  ARGV 0000002a-… expired 1  ->  {released}

assert(#KEYS == 3 and #ARGV == 3, 'release takes 3 keys and 3 arguments')
local item, buyers, holds = KEYS[1], KEYS[2], KEYS[3]
local reservation_id, reason, even_unverified = ARGV[1], ARGV[2], ARGV[3] == '1'

-- A number as HINCRBY takes it, which 1.5 or 007 is not: the script must not find that out after its first write.
local function countable(text) return text == '0' or string.find(tostring(text), '^%-?[1-9]%d*$') and #text < 16 end

local held, sold, quantity, left, incarnation =
  unpack(redis.call('HMGET', item, 'held', 'sold', 'quantity', 'left', 'incarnation'))
local limited = quantity or left
if not (countable(held) and countable(sold)) or limited and not (countable(quantity) and countable(left)) then
  return {'unavailable'}
end
-- While a reconcile compares the item with its orders, only the reconcile may move units: else totals never agree.
if not even_unverified and incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return {'unavailable'}
end
local hold = redis.call('HGET', holds, reservation_id)
if not hold then
  return {'unknown_hold'}
end
local state, buyer, units, deadline_ms = string.match(hold, '^(%a+):([^:]*):(%d+):(%d+)$')
assert(countable(units), 'the hold is malformed')
if state == 'ended' then
  return {'already_released'}
end
if state == 'sold' and reason ~= 'refunded' then
  return {'already_confirmed'}
end
local of_buyer = redis.call('HGET', buyers, buyer) or '0'
assert(countable(of_buyer), 'the count of the buyer is malformed')

-- HDEL comes first because a full store accepts it, and then every later write too: releasing must work then.
redis.call('HDEL', holds, reservation_id)
redis.call('HSET', holds, reservation_id, 'ended:' .. buyer .. ':' .. units .. ':' .. deadline_ms)
if redis.call('HINCRBY', buyers, buyer, -units) <= 0 then
  redis.call('HDEL', buyers, buyer)
end
redis.call('HINCRBY', item, state == 'sold' and 'sold' or 'held', -units)
if limited then
  redis.call('HINCRBY', item, 'left', units)
end
return {'released'}
