-- Gives an item a waiting list, or counts anew how few units somebody in it waits for.
--
-- KEYS
--   1 item  hash of terms and counters
--   2 line  sorted set of buyers; the score is their units times 2^40, plus the number of their arrival
-- ARGV
--   1 waiting_list  1, the value of the field that says so
-- RETURNS {word}
--   unavailable  the item is not in the store
--   opened       the item has a waiting list, and reserve.lua knows for how few units somebody waits
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:line  ARGV 1  ->  {opened}

assert(#KEYS == 2 and #ARGV == 1, 'open_line takes 2 keys and 1 argument')
local item, line = KEYS[1], KEYS[2]
local waiting_list = ARGV[1]

if redis.call('EXISTS', item) == 0 then
  return {'unavailable'}
end

redis.call('HDEL', item, 'smallest_waiting')
redis.call('HSET', item, 'waiting_list', waiting_list)
-- After a rebuild the line is there, and the field is not.
local least = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
if least then
  redis.call('HSET', item, 'smallest_waiting', string.format('%.0f', math.floor(least / 2 ^ 40)))
end
return {'opened'}
