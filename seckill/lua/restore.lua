-- Writes the hold of an order again, if the store has lost it or released it.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
-- ARGV
--   1 reservation_id  the id given to reserve; repeating the call with it is safe
--   2 buyer           user id
--   3 units           whole units, 1 or more
--   4 deadline_ms     milliseconds since 1970
--   5 state           held, sold or ended, as in PostgreSQL; late_payment = sold, if limit and units left allow it
-- RETURNS {word}
--   unavailable       the item, or a part of it, is missing; for a late payment also if the item is not verified
--   already_restored  the hold is there and not ended, or state is ended and any hold is there; nothing was changed
--   limit_reached     a late payment, and the buyer has reserved other units since, up to the limit
--   too_few_left      too few units are left; nothing was changed
--   restored          the hold is written, and its units are counted
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds  ARGV 0000002a-… 7 1 1767226500012 sold  ->  {restored}

assert(#KEYS == 3 and #ARGV == 5, 'restore takes 3 keys and 5 arguments')
local item, buyers, holds = KEYS[1], KEYS[2], KEYS[3]
local reservation_id, buyer, units, deadline_ms, state = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
assert(units and units >= 1 and units % 1 == 0, 'units are whole, 1 or more')
local late = state == 'late_payment'

-- A number as HINCRBY takes it, which 1.5 or 007 is not: the script must not find that out after its first write.
local function counter(text) return text == '0' and 0 or string.find(tostring(text), '^%-?[1-9]%d*$') and #text < 16 and tonumber(text) end

local held, sold, quantity, left, per_buyer_max, reservations, incarnation =
  unpack(redis.call('HMGET', item, 'held', 'sold', 'quantity', 'left', 'per_buyer_max', 'reservations', 'incarnation'))
local limited = quantity or left
held, sold, quantity, left = counter(held), counter(sold), counter(quantity), counter(left)
per_buyer_max, reservations = tonumber(per_buyer_max), counter(reservations)
if not (held and sold and per_buyer_max and reservations) or limited and not (quantity and left) then
  return {'unavailable'}
end
-- A lost key must stay lost until a reconcile: created here with one hold, it would hide the loss of the others.
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
local of_buyer = counter(redis.call('HGET', buyers, buyer) or '0')
assert(of_buyer, 'the count of the buyer is malformed')
if late and of_buyer + units > per_buyer_max then
  return {'limit_reached'}
end
if state ~= 'ended' and left and left < units then
  return {'too_few_left'}
end

-- HDEL comes first because a full store accepts it, and then every later write too: an order must be restored then.
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
