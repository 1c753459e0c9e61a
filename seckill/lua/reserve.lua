-- Holds units of an item for a buyer and writes the reservation to the outbox, or answers why not.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
--   4 outbox  stream, one entry per reservation
--   5 latest  list of the latest reservations, newest first: 'n:reservation id', n as in `reservations` after it
-- ARGV
--   1 reservation_id  the random id in the pass; repeating the call with it is safe
--   2 buyer           user id
--   3 units           whole units, 1 or more
--   4 backlog_max     with so many entries in the outbox, the script refuses new reservations
-- RETURNS {word, now_ms, left, units, deadline_ms, price_minor, currency}; left is '' if unlimited, a refusal ends after it
--   unavailable       a part of the item is missing, or it is not verified; or, after held_by_others, the backlog is full
--   already_reserved  this reservation was made before; its units and deadline are returned again
--   hold_ended        this reservation was released
--   paused            the sale is paused
--   not_open          the sale has not opened; after left, in how many milliseconds it opens
--   closed            the sale is over
--   sold_out          no units are left, and none are held that could come back
--   held_by_others    no units are left, but held ones may come back; or those that are left are for the waiting list
--   limit_reached     the buyer would have more than per_buyer_max; after left, the units still possible, and per_buyer_max
--   too_few_left      some units are left, but fewer than requested
--   reserved          the units are held until deadline_ms
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds seckill:{42}:outbox
--   seckill:{42}:latest  ARGV 0000002a-… 7 1 100000  ->  {reserved, 1767225600012, 499, 1, 1767226500012, 1900, CNY}

assert(#KEYS == 5 and #ARGV == 4, 'reserve takes 5 keys and 4 arguments')
local item, buyers, holds, outbox, latest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local reservation_id, buyer, units, backlog_max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
assert(units and units >= 1 and units % 1 == 0, 'units are whole, 1 or more')

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- A number as HINCRBY takes it, which 1.5 or 007 is not: confirm and release must not fail at it later.
local function counter(text) return text == '0' and 0 or text and string.find(text, '^%-?[1-9]%d*$') and #text < 16 and tonumber(text) end

local state, price_minor, currency, incarnation, opens_ms, closes_ms, hold_ms, per_buyer_max,
  quantity, left, held, sold, reservations, smallest_waiting = unpack(redis.call('HMGET', item,
    'state', 'price_minor', 'currency', 'incarnation', 'opens_ms', 'closes_ms', 'hold_ms', 'per_buyer_max',
    'quantity', 'left', 'held', 'sold', 'reservations', 'smallest_waiting'))
opens_ms, closes_ms = tonumber(opens_ms), tonumber(closes_ms)
hold_ms, per_buyer_max = tonumber(hold_ms), tonumber(per_buyer_max)
local limited = quantity or left
quantity, left = counter(quantity), counter(left)
held, sold, reservations = counter(held), counter(sold), counter(reservations)

-- If a field or a key of the item is missing, the script refuses: the rest may be wrong too.
if not (state and price_minor and currency and incarnation and opens_ms and closes_ms and hold_ms and per_buyer_max) then
  return {'unavailable', now_ms}
end
if not (held and sold and reservations) or limited and not (quantity and left) then
  return {'unavailable', now_ms}
end
-- publish creates the outbox, every reservation has a hold, and every unit held or sold is counted for a buyer.
if redis.call('EXISTS', outbox, buyers, holds) < 3 and (held + sold > 0
    or redis.call('EXISTS', outbox) == 0 or reservations > 0 and redis.call('EXISTS', holds) == 0) then
  return {'unavailable', now_ms}
end
-- The id changes at every restart and promotion. After one, the store may have lost reservations that it had confirmed.
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. incarnation .. '\r\n', nil, true) then
  return {'unavailable', now_ms}
end
local shown_left = left or ''

local hold = redis.call('HGET', holds, reservation_id)
if hold then
  local hold_state, held_units, deadline_ms = string.match(hold, '^(%a+):[^:]*:(%d+):(%d+)$')
  assert(hold_state, 'the hold is malformed')
  if hold_state ~= 'ended' then
    return {'already_reserved', now_ms, shown_left, held_units, deadline_ms, price_minor, currency}
  end
  return {'hold_ended', now_ms, shown_left, held_units, deadline_ms, price_minor, currency}
end

if state == 'paused' then
  return {'paused', now_ms, shown_left}
end
if now_ms < opens_ms then
  return {'not_open', now_ms, shown_left, opens_ms - now_ms}
end
if now_ms >= closes_ms then
  return {'closed', now_ms, shown_left}
end
-- Checks of the item come before checks of the buyer: web processes answer them from the item's figures alone.
if left and left <= 0 and held <= 0 then
  return {'sold_out', now_ms, left}
end
-- Units that somebody in the waiting list could have are on their way there; nobody can have more than per_buyer_max.
smallest_waiting = counter(smallest_waiting)
if left and (left <= 0 or smallest_waiting and left >= math.min(smallest_waiting, per_buyer_max)) then
  return {'held_by_others', now_ms, left}
end
-- Refuse a reservation that cannot become an order soon. Only calls that would get a yes pay for this check.
if redis.call('XLEN', outbox) >= backlog_max then
  return {'unavailable', now_ms}
end
local of_buyer = counter(redis.call('HGET', buyers, buyer) or '0')
assert(of_buyer, 'the count of the buyer is malformed')
local remaining = per_buyer_max - of_buyer
if units > remaining then
  -- Not below 0: staff may have lowered the limit since the buyer reserved.
  return {'limit_reached', now_ms, shown_left, math.max(remaining, 0), per_buyer_max}
end
if left and left < units then
  return {'too_few_left', now_ms, left}
end

-- From here on only writes. XADD comes first because a full store refuses it, and the script stops there.
local deadline_ms = now_ms + hold_ms
redis.call('XADD', outbox, '*', 'reservation', reservation_id, 'buyer', buyer, 'units', units,
  'reserved_ms', now_ms, 'deadline_ms', deadline_ms)
redis.call('HSET', holds, reservation_id, string.format('held:%s:%.0f:%.0f', buyer, units, deadline_ms))
redis.call('HSET', buyers, buyer, of_buyer + units)
reservations = reservations + 1
if left then
  shown_left = left - units
  redis.call('HSET', item, 'held', held + units, 'reservations', reservations, 'left', shown_left)
else
  redis.call('HSET', item, 'held', held + units, 'reservations', reservations)
end
-- The web processes learn from this list which passes already have a reservation. It keeps the latest 128 to 191.
redis.call('LPUSH', latest, string.format('%.0f:%s', reservations, reservation_id))
if reservations % 64 == 0 then
  redis.call('LTRIM', latest, 0, 127)
end
return {'reserved', now_ms, shown_left, units, deadline_ms, price_minor, currency}
