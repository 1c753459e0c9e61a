-- Gives an account its number in the order of arrival in the waiting room of a sale.
--
-- KEYS
--   1 room      hash of the opening and the counts of the room
--   2 arrivals  hash account -> arrival number, with a * behind it once the account has entered
-- ARGV
--   1 account   user id; repeating the call with it is safe
--   2 claimed   the arrival number in a place token of the account, in case the store has lost it; empty = no token
--   3 given_up  the arrival number of a place that has lapsed, to have a new one; empty = keep the one that is known
-- RETURNS {word, now_ms, arrival}; arrival as in the hash, counted from 0
--   unavailable      the room is not in the store; arrival is ''
--   already_arrived  the account has this number
--   arrived          the account has this number from now on
-- EXAMPLE
--   KEYS seckill:{sale-42}:room seckill:{sale-42}:arrivals  ARGV 7 '' ''  ->  {arrived, 1767225600012, 311}

assert(#KEYS == 2 and #ARGV == 3, 'arrive takes 2 keys and 3 arguments')
local room, arrivals = KEYS[1], KEYS[2]
local account, claimed, given_up = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local opens_ms, count, early = unpack(redis.call('HMGET', room, 'opens_ms', 'arrivals', 'early'))
opens_ms, count = tonumber(opens_ms), tonumber(count)
if not (opens_ms and count) then
  return {'unavailable', now_ms, ''}
end
local known = redis.call('HGET', arrivals, account)
if known and known ~= given_up then
  return {'already_arrived', now_ms, known}
end

-- Two accounts that claim one number share a place: both are called together, and nobody else is later for it.
local arrival = not known and claimed or count
redis.call('HSET', arrivals, account, arrival)
-- From the first call after the opening on it is fixed how many came before.
if now_ms >= opens_ms and not early then
  redis.call('HSET', room, 'early', count)
end
redis.call('HSET', room, 'arrivals', math.max(count, arrival + 1))
return {'arrived', now_ms, arrival}
