-- Writes down again what an order says of its hold, where the store has lost it or given it back.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
-- ARGV
--   1 reservation_id  the one that reserve held by; the call is idempotent by it
--   2 buyer           user id
--   3 units           whole units, 1 or more
--   4 deadline_ms     milliseconds since 1970
--   5 state           held, sold or ended as PostgreSQL knows it; late_payment = sold, if the item still allows it
-- RETURNS {word}
--   unavailable       the item, or a part of it, is not in the store; for a late payment, it is not verified yet
--   already_restored  the hold is there: nothing was changed, whatever its state
--   limit_reached     a late payment, and the buyer has taken up the limit since
--   too_few_left      fewer units are left; nothing was changed
--   restored          the hold is there again, and its units are counted
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds  ARGV 0000002a-… 7 1 1767226500012 sold  ->  {restored}

assert(#KEYS == 3 and #ARGV == 5, 'restore takes 3 keys and 5 arguments')
local item, buyers, holds = KEYS[1], KEYS[2], KEYS[3]
local reservation_id, buyer, units, deadline_ms, state = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
assert(units and units >= 1 and units % 1 == 0, 'units are whole, 1 or more')
local late = state == 'late_payment'

local held, sold, quantity, left, per_buyer_max, reservations, incarnation =
  unpack(redis.call('HMGET', item, 'held', 'sold', 'quantity', 'left', 'per_buyer_max', 'reservations', 'incarnation'))
held, sold, quantity, left = tonumber(held), tonumber(sold), tonumber(quantity), tonumber(left)
per_buyer_max, reservations = tonumber(per_buyer_max), tonumber(reservations)
if not (held and sold and per_buyer_max and reservations) or (quantity == nil) ~= (left == nil) then
  return {'unavailable'}
end
-- On sale, a lost key must stay lost until a reconcile: written anew with one hold in it, nobody would miss the others.
if late and held + sold > 0 and redis.call('EXISTS', buyers) == 0 then
  return {'unavailable'}
end
if late and reservations > 0 and redis.call('EXISTS', holds) == 0 then
  return {'unavailable'}
end
if late and incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return {'unavailable'}
end
local hold = redis.call('HGET', holds, reservation_id)
if hold and (state == 'ended' or not string.match(hold, '^ended:')) then
  return {'already_restored'}
end
if late and tonumber(redis.call('HGET', buyers, buyer) or 0) + units > per_buyer_max then
  return {'limit_reached'}
end
if state ~= 'ended' and left and left < units then
  return {'too_few_left'}
end

-- HDEL comes first because a full store accepts it, and then all that follows: what was promised must be written down.
local whole = string.format('%.0f', units)
local written = late and 'sold' or state
redis.call('HDEL', holds, reservation_id)
redis.call('HSET', holds, reservation_id, written .. ':' .. buyer .. ':' .. whole .. ':' .. deadline_ms)
if not hold then
  redis.call('HINCRBY', item, 'reservations', 1)
end
if state == 'ended' then
  return {'restored'}
end
redis.call('HINCRBY', buyers, buyer, whole)
redis.call('HINCRBY', item, written, whole)
if left then
  redis.call('HINCRBY', item, 'left', -units)
end
return {'restored'}
