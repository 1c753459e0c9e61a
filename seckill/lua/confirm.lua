-- Marks held units as sold: the buyer has paid.
--
-- KEYS
--   1 item   hash of terms and counters
--   2 holds  hash reservation id -> 'state:buyer:units:deadline_ms'
-- ARGV
--   1 reservation_id   the id given to reserve; repeating the call with it is safe
--   2 even_unverified  1 = also while the item is not verified, for a repair; empty = not then
-- RETURNS {word}
--   unavailable        the item, or a part of it, is missing, or the item is not verified
--   unknown_hold       the store has no such hold
--   already_confirmed  the units are already sold; nothing was changed
--   hold_ended         the hold was released; nothing was changed
--   confirmed          the units are now counted as sold
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:holds  ARGV 0000002a-… 1  ->  {confirmed}

assert(#KEYS == 2 and #ARGV == 2, 'confirm takes 2 keys and 2 arguments')
local item, holds = KEYS[1], KEYS[2]
local reservation_id, even_unverified = ARGV[1], ARGV[2] == '1'

-- A number as HINCRBY takes it, which 1.5 or 007 is not: the script must not find that out after its first write.
local function countable(text) return text == '0' or string.find(tostring(text), '^%-?[1-9]%d*$') and #text < 16 end

local held, sold, incarnation = unpack(redis.call('HMGET', item, 'held', 'sold', 'incarnation'))
if not (countable(held) and countable(sold)) then
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
if state == 'sold' then
  return {'already_confirmed'}
end
if state == 'ended' then
  return {'hold_ended'}
end

-- HDEL comes first because a full store accepts it, and then every later write too: a payment must be recorded then.
redis.call('HDEL', holds, reservation_id)
redis.call('HSET', holds, reservation_id, 'sold:' .. buyer .. ':' .. units .. ':' .. deadline_ms)
redis.call('HINCRBY', item, 'held', -units)
redis.call('HINCRBY', item, 'sold', units)
return {'confirmed'}
