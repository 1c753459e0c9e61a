-- Lets an account into the sale, if its place in the waiting room was called.
--
-- KEYS
--   1 room      hash of the counts of the room
--   2 arrivals  hash account -> arrival number, with a * behind it once the account has entered
-- ARGV
--   1 account  user id; repeating the call with it is safe
--   2 arrival  its arrival number
--   3 place    the place of this number, counted from 0
-- RETURNS {word, now_ms}
--   unavailable      the room is not in the store
--   already_entered  the account was let in before
--   no_place         the account does not have this arrival number
--   not_called       the place was not called yet
--   lapsed           the place was called, and its time to come is over
--   entered          the account is let in
-- EXAMPLE
--   KEYS seckill:{sale-42}:room seckill:{sale-42}:arrivals  ARGV 7 311 28  ->  {entered, 1767225600012}

assert(#KEYS == 2 and #ARGV == 3, 'enter takes 2 keys and 3 arguments')
local room, arrivals = KEYS[1], KEYS[2]
local account, arrival, place = ARGV[1], ARGV[2], tonumber(ARGV[3])

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local called, lapsed, entered = unpack(redis.call('HMGET', room, 'called', 'lapsed', 'entered'))
called, lapsed, entered = tonumber(called), tonumber(lapsed), tonumber(entered)
if not (called and lapsed and entered) then
  return {'unavailable', now_ms}
end
local known = redis.call('HGET', arrivals, account)
if known == arrival .. '*' then
  return {'already_entered', now_ms}
end
if known ~= arrival then
  return {'no_place', now_ms}
end
if place >= called then
  return {'not_called', now_ms}
end
if place < lapsed then
  return {'lapsed', now_ms}
end
redis.call('HSET', arrivals, account, arrival .. '*')
redis.call('HSET', room, 'entered', entered + 1)
return {'entered', now_ms}
