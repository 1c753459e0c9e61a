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
-- RETURNS {word, now_ms, units, deadline_ms, price_minor, currency, left, retry_ms, remaining, limit}; absent is 0 or ''
--   unavailable       the item, or a part of it, is missing, or the item is not verified; never means sold out
--   already_reserved  this reservation was made before; its units and deadline are returned again
--   hold_ended        this reservation was released
--   paused            the sale is paused
--   not_open          the sale has not opened; it opens in retry_ms
--   closed            the sale is over
--   sold_out          no units are left, and none are held that could come back
--   held_by_others    no units are left, but held ones may come back
--   limit_reached     units held and bought + units requested > per_buyer_max, the limit; `remaining` are still possible
--   too_few_left      some units are left, but fewer than requested
--   reserved          the units are held until deadline_ms
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds seckill:{42}:outbox
--   seckill:{42}:latest  ARGV 0000002a-… 7 1  ->  {reserved, 1767225600012, 1, 1767226500012, 1900, CNY, 499, 0, 0, 0}

assert(#KEYS == 5 and #ARGV == 3, 'reserve takes 5 keys and 3 arguments')
local item, buyers, holds, outbox, latest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local reservation_id, buyer, units = ARGV[1], ARGV[2], tonumber(ARGV[3])
assert(units and units >= 1 and units % 1 == 0, 'units are whole, 1 or more')

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- A number as HINCRBY takes it, which 1.5 or 007 is not: the script must not find that out after its first write.
local function counter(text) return text == '0' and 0 or string.find(tostring(text), '^%-?[1-9]%d*$') and #text < 16 and tonumber(text) end
local function whole(number) return string.format('%.0f', number) end

local state, price_minor, currency, incarnation, opens_ms, closes_ms, hold_ms, per_buyer_max,
  quantity, left, held, sold, reservations = unpack(redis.call('HMGET', item,
    'state', 'price_minor', 'currency', 'incarnation', 'opens_ms', 'closes_ms', 'hold_ms', 'per_buyer_max',
    'quantity', 'left', 'held', 'sold', 'reservations'))
opens_ms, closes_ms, hold_ms = tonumber(opens_ms), tonumber(closes_ms), tonumber(hold_ms)
per_buyer_max = tonumber(per_buyer_max)
local limited = quantity or left
quantity, left = counter(quantity), counter(left)
held, sold, reservations = counter(held), counter(sold), counter(reservations)

local function answer(word, held_units, deadline_ms, retry_ms, remaining, limit)
  return {word, whole(now_ms), held_units or '0', deadline_ms or '0', price_minor or '0', currency or '',
    left or '', retry_ms or '0', remaining or '0', limit or '0'}
end

-- If a part of the item is missing, a field or a whole key, nothing is assumed about it.
if not (state and opens_ms and closes_ms and hold_ms and per_buyer_max and price_minor and currency) then
  return answer('unavailable')
end
if not (held and sold and reservations) or limited and not (quantity and left) then
  return answer('unavailable')
end
-- publish creates the outbox, every reservation has a hold, and every unit held or sold is counted for a buyer.
if redis.call('EXISTS', outbox) == 0 or (held + sold > 0 and redis.call('EXISTS', buyers) == 0) then
  return answer('unavailable')
end
if reservations > 0 and redis.call('EXISTS', holds) == 0 then
  return answer('unavailable')
end
-- The id changes at every restart and promotion. After one, the store may have lost reservations that it had confirmed.
if incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return answer('unavailable')
end

local hold = redis.call('HGET', holds, reservation_id)
if hold then
  local hold_state, held_units, deadline_ms = string.match(hold, '^(%a+):[^:]*:(%d+):(%d+)$')
  assert(hold_state, 'the hold is malformed')
  if hold_state ~= 'ended' then
    return answer('already_reserved', held_units, deadline_ms)
  end
  return answer('hold_ended', held_units, deadline_ms)
end

if state == 'paused' then
  return answer('paused')
end
if now_ms < opens_ms then
  return answer('not_open', nil, nil, whole(opens_ms - now_ms))
end
if now_ms >= closes_ms then
  return answer('closed')
end
-- What depends only on the item is checked before what depends on the buyer: it can be answered from the figures alone.
if left and left <= 0 and held <= 0 then
  return answer('sold_out')
end
if left and left <= 0 then
  return answer('held_by_others')
end
local of_buyer = counter(redis.call('HGET', buyers, buyer) or '0')
assert(of_buyer, 'the count of the buyer is malformed')
local remaining = per_buyer_max - of_buyer
if units > remaining then
  -- Not below 0: staff may have lowered the limit since the buyer reserved.
  return answer('limit_reached', nil, nil, nil, whole(math.max(remaining, 0)), whole(per_buyer_max))
end
if left and left < units then
  return answer('too_few_left')
end

-- From here on only writes. XADD comes first because a full store refuses it, and the script stops there.
local deadline_ms = whole(now_ms + hold_ms)
redis.call('XADD', outbox, '*', 'reservation', reservation_id, 'buyer', buyer, 'units', units,
  'reserved_ms', whole(now_ms), 'deadline_ms', deadline_ms)
redis.call('HSET', holds, reservation_id, 'held:' .. buyer .. ':' .. units .. ':' .. deadline_ms)
redis.call('HINCRBY', buyers, buyer, units)
redis.call('HINCRBY', item, 'held', units)
local number = redis.call('HINCRBY', item, 'reservations', 1)
if left then
  left = redis.call('HINCRBY', item, 'left', -units)
end
-- The web processes learn from this list which passes have had their yes. It keeps the latest 128 to 191.
redis.call('LPUSH', latest, number .. ':' .. reservation_id)
if number % 64 == 0 then
  redis.call('LTRIM', latest, 0, 127)
end
return answer('reserved', whole(units), deadline_ms)
