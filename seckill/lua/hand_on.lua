-- Gives units that are left to the first in the waiting list whom they are enough for, and to the next ones; to no
-- buyer more than per_buyer_max.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
--   4 outbox  stream, one entry per reservation
--   5 latest  list of the latest reservations, newest first: 'n:reservation id', n as in `reservations` after it
--   6 line    sorted set of buyers; the score is their units times 2^40, plus the number of their arrival
--   7 places  hash buyer -> 'reservation id:units:arrival'; and 'arrivals' -> how many places there ever were
-- ARGV
--   1 backlog_max  with so many entries in the outbox, nothing is handed on
--   2 people_max   so many places are dealt with at most, 1 to 10
-- RETURNS {word, holds}; a refusal ends after the word
--   unavailable   the item, or a part of it, is missing, or the item is not verified
--   no_line       the item has no waiting list
--   paused        the sale is paused
--   not_open      the sale has not opened
--   closed        the sale is over: so is the line
--   nobody_fits   nobody waits, or for more units than are left; nothing was changed
--   backlog_full  too many reservations wait to become orders
--   handed_on     so many buyers have a hold with a fresh deadline. Call again: more may be left for others
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds seckill:{42}:outbox seckill:{42}:latest
--   seckill:{42}:line seckill:{42}:places  ARGV 100000 10  ->  {handed_on, 1}

assert(#KEYS == 7 and #ARGV == 2, 'hand_on takes 7 keys and 2 arguments')
local item, buyers, holds, outbox, latest, line, places = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local backlog_max, people_max = tonumber(ARGV[1]), tonumber(ARGV[2])
assert(people_max and people_max >= 1 and people_max <= 10, 'people_max is 1 to 10')

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- A number as HINCRBY takes it, which 1.5 or 007 is not: confirm and release must not fail at it later.
local function counter(text) return text == '0' and 0 or text and string.find(text, '^%-?[1-9]%d*$') and #text < 16 and tonumber(text) end

local state, incarnation, opens_ms, closes_ms, hold_ms, per_buyer_max, quantity, left, held, sold, reservations,
  waiting_list, smallest =
  unpack(redis.call('HMGET', item, 'state', 'incarnation', 'opens_ms', 'closes_ms', 'hold_ms', 'per_buyer_max',
    'quantity', 'left', 'held', 'sold', 'reservations', 'waiting_list', 'smallest_waiting'))
opens_ms, closes_ms = tonumber(opens_ms), tonumber(closes_ms)
hold_ms, per_buyer_max, smallest = tonumber(hold_ms), counter(per_buyer_max), counter(smallest)
quantity, left = counter(quantity), counter(left)
held, sold, reservations = counter(held), counter(sold), counter(reservations)

if not (state and opens_ms and closes_ms and hold_ms and per_buyer_max and quantity and left and held and sold and reservations) then
  return {'unavailable'}
end
-- As in reserve.lua: a key that was lost must not come back with one hold in it.
if redis.call('EXISTS', outbox, buyers, holds) < 3 and (held + sold > 0
    or redis.call('EXISTS', outbox) == 0 or reservations > 0 and redis.call('EXISTS', holds) == 0) then
  return {'unavailable'}
end
if incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return {'unavailable'}
end
if not waiting_list then
  return {'no_line'}
end
if state == 'paused' then
  return {'paused'}
end
if now_ms < opens_ms then
  return {'not_open'}
end
if now_ms >= closes_ms then
  return {'closed'}
end

-- The buyer who came first of those whom the units that are left are enough for.
local function first_in_line()
  local first, least
  -- The limit may be lower than when they came. As many units are enough for all who wait for more.
  local enough_for = left >= per_buyer_max and 10 or left
  for units = 1, math.min(enough_for, 10) do
    local found = redis.call('ZRANGE', line, string.format('%.0f', units * 2 ^ 40),
      string.format('(%.0f', (units + 1) * 2 ^ 40), 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    local arrival = found[2] and found[2] - units * 2 ^ 40
    if arrival and (not least or arrival < least) then
      first, least = found[1], arrival
    end
  end
  return first
end

local buyer = first_in_line()
-- If reserve.lua keeps units for somebody who is not there, a part of the line was lost: count anew, below.
if not buyer and not (smallest and left >= math.min(smallest, per_buyer_max)) then
  return {'nobody_fits'}
end
if redis.call('XLEN', outbox) >= backlog_max then
  return {'backlog_full'}
end

local handed_on = 0
for _ = 1, people_max do
  if not buyer then
    break
  end
  local reservation_id, units = string.match(redis.call('HGET', places, buyer) or '', '^([^:]+):(%d+):%d+$')
  local of_buyer = counter(redis.call('HGET', buyers, buyer) or '0')
  -- Fewer than the buyer waits for, if they have reserved elsewhere, or the limit was lowered.
  units = units and of_buyer and math.min(tonumber(units), per_buyer_max - of_buyer)
  -- A place ends without units if its buyer has reserved up to the limit, or with the same pass.
  if units and units >= 1 and units <= left and redis.call('HEXISTS', holds, reservation_id) == 0 then
    -- XADD comes first because a full store refuses it, and the script stops there.
    local deadline_ms = now_ms + hold_ms
    redis.call('XADD', outbox, '*', 'reservation', reservation_id, 'buyer', buyer, 'units', units,
      'reserved_ms', now_ms, 'deadline_ms', deadline_ms, 'waited', 1)
    redis.call('HSET', holds, reservation_id, string.format('held:%s:%.0f:%.0f', buyer, units, deadline_ms))
    redis.call('HSET', buyers, buyer, of_buyer + units)
    left, held, reservations, handed_on = left - units, held + units, reservations + 1, handed_on + 1
    redis.call('HSET', item, 'left', left, 'held', held, 'reservations', reservations)
    -- As in reserve.lua.
    redis.call('LPUSH', latest, string.format('%.0f:%s', reservations, reservation_id))
    if reservations % 64 == 0 then
      redis.call('LTRIM', latest, 0, 127)
    end
  end
  redis.call('HDEL', places, buyer)
  redis.call('ZREM', line, buyer)
  buyer = first_in_line()
end
redis.call('HDEL', item, 'smallest_waiting')
local least = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
if least then
  redis.call('HSET', item, 'smallest_waiting', string.format('%.0f', math.floor(least / 2 ^ 40)))
end
return {'handed_on', handed_on}
