-- Puts a sale item on sale with its terms; a second publish changes nothing.
--
-- KEYS
--   1 item    hash of terms and counters
--   2 outbox  stream of reservations; its consumer group is created here
-- ARGV
--   1 quantity       units on sale; empty = unlimited
--   2 opens_ms       milliseconds since 1970
--   3 closes_ms      milliseconds since 1970
--   4 hold_ms        how long units are held for a buyer who has not paid
--   5 per_buyer_max  units held and bought that one buyer may have
--   6 price_minor    price of one unit in minor units
--   7 currency       ISO 4217
--   8 state          open or paused
--   9 verified       1 = buyers can reserve; empty = not until the orders are restored and the item is verified
-- RETURNS {word}
--   already_published  the item is in the store already; nothing was changed
--   published          the item is on sale with left = quantity, held = sold = reservations = 0
-- EXAMPLE
--   KEYS seckill:{42}:item seckill:{42}:outbox
--   ARGV 500 1767225600000 1767229200000 900000 1 1900 CNY open 1  ->  {published}

assert(#KEYS == 2 and #ARGV == 9, 'publish takes 2 keys and 9 arguments')
local item, outbox = KEYS[1], KEYS[2]
local quantity, opens_ms, closes_ms, hold_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local per_buyer_max, price_minor, currency, state, verified = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]

if redis.call('EXISTS', item) == 1 then
  return {'already_published'}
end
-- The id of this run of this server. reserve compares it, since a restart may have lost reservations.
local incarnation = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
assert(incarnation or verified == '', 'the replication id is missing')

redis.call('HSET', item,
  'opens_ms', opens_ms, 'closes_ms', closes_ms, 'hold_ms', hold_ms, 'per_buyer_max', per_buyer_max,
  'price_minor', price_minor, 'currency', currency, 'state', state, 'held', 0, 'sold', 0, 'reservations', 0)
if quantity ~= '' then
  redis.call('HSET', item, 'quantity', quantity, 'left', quantity)
end
if verified ~= '' then
  redis.call('HSET', item, 'incarnation', incarnation)
end
-- If the store has lost the item but not the stream, the group exists, and its entries must still become orders.
redis.pcall('XGROUP', 'CREATE', outbox, 'intake', '0', 'MKSTREAM')
return {'published'}
