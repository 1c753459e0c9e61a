-- Changes the terms of an item on sale (units, state, end, units per buyer), once for each operation.
--
-- KEYS
--   1 item  hash of terms and counters
--   2 ops   hash operation id -> when it was applied, in milliseconds since 1970
-- ARGV
--   1 operation_id   the id of the change in the journal; repeating the call with it is safe
--   2 units          whole units to add; negative = to withdraw; 0 = none
--   3 state          open or paused; empty = unchanged
--   4 closes_ms      milliseconds since 1970, or now for the store's own clock; empty = unchanged
--   5 per_buyer_max  units held and bought that one buyer may have; empty = unchanged
-- RETURNS {word, quantity, left, held, sold, closes_ms}; quantity and left are '' for an unlimited item
--   unavailable      the item, or a part of it, is missing, or the item is not verified
--   already_applied  this operation was applied before; the figures are the present ones
--   unlimited        an unlimited item has no units to add or withdraw
--   too_few_left     fewer units are left than to be withdrawn; nothing was changed
--   adjusted         the change was made
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:ops  ARGV 6f1c-… 50 paused 1767229200000 2
--   ->  {adjusted, 550, 207, 31, 312, 1767229200000}

assert(#KEYS == 2 and #ARGV == 5, 'adjust takes 2 keys and 5 arguments')
local item, ops = KEYS[1], KEYS[2]
local operation_id, units, state, closes_ms, per_buyer_max = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
assert(units and units % 1 == 0, 'units are whole')

local clock = redis.call('TIME')
local now_ms = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))

-- A number as HINCRBY takes it, which 1.5 or 007 is not: the script must not find that out after its first write.
local function counter(text) return text == '0' and 0 or string.find(tostring(text), '^%-?[1-9]%d*$') and #text < 16 and tonumber(text) end

local function answer(word)
  local quantity, left, held, sold, closes = unpack(redis.call('HMGET', item, 'quantity', 'left', 'held', 'sold', 'closes_ms'))
  return {word, counter(quantity) or '', counter(left) or '', counter(held) or '', counter(sold) or '', closes or ''}
end

local quantity, left, held, sold, incarnation =
  unpack(redis.call('HMGET', item, 'quantity', 'left', 'held', 'sold', 'incarnation'))
local limited = quantity or left
quantity, left = counter(quantity), counter(left)
if not (counter(held) and counter(sold)) or limited and not (quantity and left) then
  return answer('unavailable')
end
if incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return answer('unavailable')
end
if redis.call('HEXISTS', ops, operation_id) == 1 then
  return answer('already_applied')
end
if units ~= 0 and not left then
  return answer('unlimited')
end
if units < 0 and left + units < 0 then
  return answer('too_few_left')
end

-- HDEL comes first because a full store accepts it, and then every later write too: pausing must work then.
redis.call('HDEL', ops, operation_id)
redis.call('HSET', ops, operation_id, now_ms)
if units ~= 0 then
  redis.call('HINCRBY', item, 'quantity', units)
  redis.call('HINCRBY', item, 'left', units)
end
if state ~= '' then
  redis.call('HSET', item, 'state', state)
end
if closes_ms ~= '' then
  redis.call('HSET', item, 'closes_ms', closes_ms == 'now' and now_ms or closes_ms)
end
if per_buyer_max ~= '' then
  redis.call('HSET', item, 'per_buyer_max', per_buyer_max)
end
return answer('adjusted')
