-- Gives a buyer who would be refused a place in the item's waiting list.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
--   4 line    sorted set of buyers; the score is their units times 2^40, plus the number of their arrival
--   5 places  hash buyer -> 'reservation id:units:arrival'; and 'arrivals' -> how many places there ever were
-- ARGV
--   1 reservation_id  the random id in the pass; repeating the call with it is safe
--   2 buyer           user id
--   3 units           whole units, 1 to 10
--   4 places_max      so many places a line can have
-- RETURNS {word, reservation_id, units}; a refusal ends after the word, but for not_open and limit_reached
--   unavailable       the item, or a part of it, is missing, or the item is not verified
--   no_line           the item has no waiting list
--   already_reserved  this pass has reserved
--   hold_ended        this pass's hold was released
--   already_waiting   the buyer has a place: its reservation id and units
--   paused            the sale is paused
--   not_open          the sale has not opened; then in how many milliseconds it opens
--   closed            the sale is over
--   limit_reached     the buyer would have more than per_buyer_max; then the units still possible, and per_buyer_max
--   units_left        nobody has to wait for so few units: reserve them
--   line_full         the line has places_max places
--   joined            the buyer has a place
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds seckill:{42}:line seckill:{42}:places
--   ARGV 0000002a-… 7 1 100000  ->  {joined, 0000002a-…, 1}

assert(#KEYS == 5 and #ARGV == 4, 'join_line takes 5 keys and 4 arguments')
local item, buyers, holds, line, places = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local reservation_id, buyer, units, places_max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
assert(units and units >= 1 and units <= 10 and units % 1 == 0, 'units are whole, 1 to 10')

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local state, incarnation, opens_ms, closes_ms, per_buyer_max, left, waiting_list, smallest = unpack(redis.call('HMGET', item,
  'state', 'incarnation', 'opens_ms', 'closes_ms', 'per_buyer_max', 'left', 'waiting_list', 'smallest_waiting'))
opens_ms, closes_ms, per_buyer_max = tonumber(opens_ms), tonumber(closes_ms), tonumber(per_buyer_max)
left, smallest = tonumber(left), tonumber(smallest)

if not (state and opens_ms and closes_ms and per_buyer_max) then
  return {'unavailable'}
end
if incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return {'unavailable'}
end
if not waiting_list then
  return {'no_line'}
end
local hold = redis.call('HGET', holds, reservation_id)
if hold and not string.find(hold, '^ended:') then
  return {'already_reserved'}
end
if hold then
  return {'hold_ended'}
end
local place = redis.call('HGET', places, buyer)
if place then
  local place_id, place_units = string.match(place, '^([^:]+):(%d+):%d+$')
  assert(place_id, 'the place is malformed')
  return {'already_waiting', place_id, place_units}
end
if state == 'paused' then
  return {'paused'}
end
if now_ms < opens_ms then
  return {'not_open', opens_ms - now_ms}
end
if now_ms >= closes_ms then
  return {'closed'}
end
local of_buyer = tonumber(redis.call('HGET', buyers, buyer) or '0')
assert(of_buyer, 'the count of the buyer is malformed')
local remaining = per_buyer_max - of_buyer
if units > remaining then
  return {'limit_reached', math.max(remaining, 0), per_buyer_max}
end
-- Units that somebody in the line could have are not for newcomers, as in reserve.lua.
if not left or left >= units and not (smallest and left >= math.min(smallest, per_buyer_max)) then
  return {'units_left'}
end
if redis.call('ZCARD', line) >= places_max then
  return {'line_full'}
end

-- HINCRBY comes first because a full store refuses it, and the script stops there.
local arrival = redis.call('HINCRBY', places, 'arrivals', 1)
redis.call('HSET', places, buyer, string.format('%s:%.0f:%.0f', reservation_id, units, arrival))
redis.call('ZADD', line, string.format('%.0f', units * 2 ^ 40 + arrival), buyer)
redis.call('HSET', item, 'smallest_waiting', string.format('%.0f', math.min(units, smallest or units)))
return {'joined', reservation_id, units}
