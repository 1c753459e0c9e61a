-- Removes a hold that has ended, once its pass can no longer be used.
--
-- KEYS
--   1 item   hash of terms and counters
--   2 holds  hash reservation id -> 'state:buyer:units:deadline_ms'
-- ARGV
--   1 reservation_id  the id given to reserve; repeating the call with it is safe
--   2 keep_ms         how long after its deadline a hold is kept, in milliseconds
-- RETURNS {word}
--   unavailable   the item, or a part of it, is missing, or the item is not verified
--   unknown_hold  the store has no such hold
--   not_ended     the hold counts units; nothing was changed
--   too_early     its pass may still be used; nothing was changed
--   last_hold     it is the only hold of the item, and stays: a missing key would mean that the holds were lost
--   forgotten     the hold is removed, and counted as such in the item
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:holds  ARGV 0000002a-… 8100000  ->  {forgotten}

assert(#KEYS == 2 and #ARGV == 2, 'forget takes 2 keys and 2 arguments')
local item, holds = KEYS[1], KEYS[2]
local reservation_id, keep_ms = ARGV[1], tonumber(ARGV[2])
assert(keep_ms, 'keep_ms is a number')

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- A number as HINCRBY takes it, which 1.5 or 007 is not: the script must not find that out after its first write.
local function countable(text) return text == '0' or string.find(text, '^[1-9]%d*$') and #text < 16 end

local forgotten, incarnation = unpack(redis.call('HMGET', item, 'forgotten', 'incarnation'))
if not countable(forgotten or '0') then
  return {'unavailable'}
end
-- While a reconcile compares the item with its orders, its holds must stay as they are.
if incarnation ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') then
  return {'unavailable'}
end
local hold = redis.call('HGET', holds, reservation_id)
if not hold then
  return {'unknown_hold'}
end
local state, deadline_ms = string.match(hold, '^(%a+):[^:]*:%d+:(%d+)$')
assert(state, 'the hold is malformed')
if state ~= 'ended' then
  return {'not_ended'}
end
if now_ms < deadline_ms + keep_ms then
  return {'too_early'}
end
if redis.call('HLEN', holds) == 1 then
  return {'last_hold'}
end

-- HDEL comes first because a full store accepts it, and then every later write too.
redis.call('HDEL', holds, reservation_id)
redis.call('HINCRBY', item, 'forgotten', 1)
return {'forgotten'}
