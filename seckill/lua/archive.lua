-- Removes an item whose sale is over, with its buyers, holds and operations and its empty outbox.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 buyers  hash buyer -> units held and bought
--   3 holds   hash reservation id -> 'state:buyer:units:deadline_ms'
--   4 outbox  stream, one entry per reservation
--   5 ops     hash operation id -> when it was applied, in milliseconds since 1970
--   6 latest  list of the latest reservations
-- ARGV
--   1 over_ms  how long the sale must have been over, in milliseconds
-- RETURNS {word}
--   unavailable       the item, or a part of it, is missing
--   not_over          the sale is not over, or not for long enough; nothing was changed
--   units_held        units are held for buyers who have not paid; nothing was changed
--   outbox_not_empty  reservations wait to become orders; nothing was changed
--   archived          nothing of the item is in the store any more
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:buyers seckill:{42}:holds seckill:{42}:outbox seckill:{42}:ops
--   seckill:{42}:latest  ARGV 950400000  ->  {archived}

assert(#KEYS == 6 and #ARGV == 1, 'archive takes 6 keys and 1 argument')
local item, buyers, holds, outbox, ops, latest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local over_ms = tonumber(ARGV[1])
assert(over_ms, 'over_ms is a number')

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local closes_ms, held = unpack(redis.call('HMGET', item, 'closes_ms', 'held'))
closes_ms, held = tonumber(closes_ms), tonumber(held)
if not (closes_ms and held) then
  return {'unavailable'}
end
if now_ms < closes_ms + over_ms then
  return {'not_over'}
end
if held ~= 0 then
  return {'units_held'}
end
if redis.call('XLEN', outbox) ~= 0 then
  return {'outbox_not_empty'}
end

redis.call('UNLINK', item, buyers, holds, outbox, ops, latest)
return {'archived'}
