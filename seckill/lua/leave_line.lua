-- Takes a buyer out of the item's waiting list.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 line    sorted set of buyers; the score is their units times 2^40, plus the number of their arrival
--   3 places  hash buyer -> 'reservation id:units:arrival'; and 'arrivals' -> how many places there ever were
-- ARGV
--   1 reservation_id  the id given to join_line; repeating the call with it is safe
--   2 buyer           user id
-- RETURNS {word}
--   not_waiting  the buyer has no place with this id, or no place any more; nothing was changed
--   left_line    the buyer's place is gone
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:line seckill:{42}:places  ARGV 0000002a-… 7  ->  {left_line}

assert(#KEYS == 3 and #ARGV == 2, 'leave_line takes 3 keys and 2 arguments')
local item, line, places = KEYS[1], KEYS[2], KEYS[3]
local reservation_id, buyer = ARGV[1], ARGV[2]

local place = redis.call('HGET', places, buyer)
if not place or string.match(place, '^([^:]+):%d+:%d+$') ~= reservation_id then
  return {'not_waiting'}
end

-- HDEL comes first because a full store accepts it, and then every later write too.
redis.call('HDEL', places, buyer)
redis.call('ZREM', line, buyer)
-- Without it nobody is known to wait; of a lost item no field may be left.
if redis.call('HDEL', item, 'smallest_waiting') == 1 then
  local least = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
  if least then
    redis.call('HSET', item, 'smallest_waiting', string.format('%.0f', math.floor(least / 2 ^ 40)))
  end
end
return {'left_line'}
