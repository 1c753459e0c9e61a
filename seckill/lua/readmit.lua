-- Holds the units of a receipt again and writes the reservation to the outbox, if the store has lost it.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
--   4 outbox  stream, one entry per reservation
--   5 latest  list of the latest reservations, newest first: 'n:reservation id', n as in `reservations` after it
-- ARGV
--   1 reservation_id  the id given to reserve; repeating the call with it is safe
--   2 buyer           user id
--   3 units           whole units, 1 or more
--   4 reserved_ms     when they were reserved, milliseconds since 1970
--   5 deadline_ms     as the buyer was told; it may have passed, since intake gives time to pay
--   6 backlog_max     with so many entries in the outbox, the script refuses
-- RETURNS {word}
--   unavailable       a part of the item is missing, or it is not verified, or the backlog is full
--   already_reserved  the hold is there; nothing was changed
--   hold_ended        the hold was released
--   limit_reached     the buyer has reserved other units since, up to the limit
--   too_few_left      too few units are left
--   readmitted        the units are held, whether the sale is open, paused or over
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds seckill:{42}:outbox
--   seckill:{42}:latest  ARGV 0000002a-… 7 1 1767225600012 1767226500012 100000  ->  {readmitted}

assert(#KEYS == 5 and #ARGV == 6, 'readmit takes 5 keys and 6 arguments')
local item, buyers, holds, outbox, latest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local reservation_id, buyer, units, reserved_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local deadline_ms, backlog_max = ARGV[5], tonumber(ARGV[6])
assert(units and units >= 1 and units % 1 == 0, 'units are whole, 1 or more')

-- A number as HINCRBY takes it, which 1.5 or 007 is not: confirm and release must not fail at it later.
local function counter(text) return text == '0' and 0 or text and string.find(text, '^%-?[1-9]%d*$') and #text < 16 and tonumber(text) end

local incarnation, per_buyer_max, quantity, left, held, sold, reservations =
  unpack(redis.call('HMGET', item, 'incarnation', 'per_buyer_max', 'quantity', 'left', 'held', 'sold', 'reservations'))
local limited = quantity or left
per_buyer_max, quantity, left = tonumber(per_buyer_max), counter(quantity), counter(left)
held, sold, reservations = counter(held), counter(sold), counter(reservations)
if not (incarnation and per_buyer_max and held and sold and reservations) or limited and not (quantity and left) then
  return {'unavailable'}
end
-- As in reserve: a lost key must stay lost until a reconcile.
if redis.call('EXISTS', outbox, buyers, holds) < 3 and (held + sold > 0
    or redis.call('EXISTS', outbox) == 0 or reservations > 0 and redis.call('EXISTS', holds) == 0) then
  return {'unavailable'}
end
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. incarnation .. '\r\n', nil, true) then
  return {'unavailable'}
end
if redis.call('XLEN', outbox) >= backlog_max then
  return {'unavailable'}
end
local hold = redis.call('HGET', holds, reservation_id)
if hold and not string.match(hold, '^ended:') then
  return {'already_reserved'}
end
if hold then
  return {'hold_ended'}
end
local of_buyer = counter(redis.call('HGET', buyers, buyer) or '0')
assert(of_buyer, 'the count of the buyer is malformed')
if of_buyer + units > per_buyer_max then
  return {'limit_reached'}
end
if left and left < units then
  return {'too_few_left'}
end

-- From here on only writes. XADD comes first because a full store refuses it, and the script stops there.
redis.call('XADD', outbox, '*', 'reservation', reservation_id, 'buyer', buyer, 'units', units,
  'reserved_ms', reserved_ms, 'deadline_ms', deadline_ms)
redis.call('HSET', holds, reservation_id, string.format('held:%s:%.0f:%s', buyer, units, deadline_ms))
redis.call('HSET', buyers, buyer, of_buyer + units)
reservations = reservations + 1
redis.call('HSET', item, 'held', held + units, 'reservations', reservations)
if left then
  redis.call('HSET', item, 'left', left - units)
end
-- The web processes learn from this list which passes already have a reservation.
redis.call('LPUSH', latest, string.format('%.0f:%s', reservations, reservation_id))
if reservations % 64 == 0 then
  redis.call('LTRIM', latest, 0, 127)
end
return {'readmitted'}
