-- Calls the next places of a waiting room: as many people as pace and units permit, by the store's clock.
--
-- KEYS
--   1 room   hash of the opening and the counts of the room
--   2 steps  list of the calls whose time to come is not over, newest first: 'ms:called:admitted:reservations'
-- ARGV
--   1 called_before  how many places the caller knows to be called
--   2 looked_at      how many of the places behind these the caller has looked at
--   3 present        who of them is there: six digits a person, the number of places up to this one
--   4 pace           people a minute
--   5 state          open, or a word for why nobody is called now
--   6 left           units left in the sale; empty = unlimited
--   7 reservations   reservations ever made in the sale
--   8 grace_ms       how long somebody whose place was called has to come
--   9 decide_ms      how long a unit is counted for somebody whose place was called; shorter than grace_ms
-- RETURNS {word, now_ms, called, admitted}; places called, and people among them who were there
--   unavailable    the room is not in the store; the counts are ''
--   not_open       the sale has not opened
--   called_before  another caller was first
--   admitted       the counts are the new ones; the room has the state that the caller found
-- EXAMPLE
--   KEYS seckill:{sale-42}:room seckill:{sale-42}:steps  ARGV 310 4 000001000003 120 open 57 298 120000 30000
--   ->  {admitted, 1767225600012, 313, 290}

assert(#KEYS == 2 and #ARGV == 9, 'admit takes 2 keys and 9 arguments')
local room, steps = KEYS[1], KEYS[2]
local called_before, looked_at, present = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local pace, state, left, reservations = tonumber(ARGV[4]), ARGV[5], ARGV[6], tonumber(ARGV[7])
local grace_ms, decide_ms = tonumber(ARGV[8]), tonumber(ARGV[9])

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Two fields have the names of an earlier rule, by which people were late when their places lapsed.
local opens_ms, arrivals, early, called, admitted, next_ms, lapsed, late_steps, late_admitted, late_reservations =
  unpack(redis.call('HMGET', room, 'opens_ms', 'arrivals', 'early', 'called', 'admitted', 'next_ms',
    'lapsed', 'late_steps', 'lapsed_admitted', 'lapsed_reservations'))
opens_ms, called, admitted, next_ms = tonumber(opens_ms), tonumber(called), tonumber(admitted), tonumber(next_ms)
if not (opens_ms and arrivals and called and admitted and next_ms) then
  return {'unavailable', now_ms, '', ''}
end
if now_ms < opens_ms then
  return {'not_open', now_ms, called, admitted}
end
if called ~= called_before then
  return {'called_before', now_ms, called, admitted}
end

-- One step a call is enough: a call adds at most one.
local function step_at(place)
  local step_ms, step_called, step_admitted, step_reservations =
    string.match(redis.call('LINDEX', steps, place) or '', '^(%d+):(%d+):(%d+):(%d+)$')
  return tonumber(step_ms), step_called, step_admitted, step_reservations
end
-- The oldest steps, whose people had their time to decide. Until the next step only they can have reserved.
late_steps = math.min(tonumber(late_steps) or 0, redis.call('LLEN', steps))
local decided_ms, _, decided = step_at(-1 - late_steps)
if decided_ms and decided_ms + decide_ms <= now_ms then
  local _, _, _, reserved_by_then = step_at(-2 - late_steps)
  late_steps, late_admitted, late_reservations = late_steps + 1, decided, reserved_by_then or reservations
end
local over_ms, over = step_at(-1)
local is_over = over_ms and over_ms + grace_ms <= now_ms
if is_over then
  -- It was late before, since decide_ms is shorter.
  lapsed, late_steps = over, late_steps - 1
end
-- People whom a unit is counted for, without those who have reserved meanwhile.
local inside = math.max(0, admitted - late_admitted - math.max(0, reservations - late_reservations))

-- The time of the next person by the pace. Time in which nobody could be called is not saved up, but for two seconds.
-- It is never far ahead: after a failover the clock may be an earlier one, and the pace may have become a higher one.
local person_ms = 60000 / pace
next_ms = math.min(math.max(next_ms, now_ms - 2000), now_ms + person_ms)
local allowed = 0
if state == 'open' then
  allowed = math.floor((now_ms - next_ms) / person_ms) + 1
  if left ~= '' then
    -- Each of them finds a unit, or is late.
    allowed = math.min(allowed, math.max(0, left - inside))
  end
  if inside == 0 and left ~= '0' then
    allowed = math.max(allowed, 1)
  end
end
local people = math.min(allowed, #present / 6)
local places
if allowed > people then
  places = looked_at
else
  -- nil if no call is due, or if everybody looked at is away.
  places = tonumber(string.sub(present, 6 * people - 5, 6 * people))
end

if places and places > 0 then
  called, admitted, next_ms = called + places, admitted + people, next_ms + people * person_ms
  redis.call('LPUSH', steps, string.format('%.0f:%.0f:%.0f:%.0f', now_ms, called, admitted, reservations))
end
if is_over then
  redis.call('RPOP', steps)
end
redis.call('HSET', room, 'early', early or arrivals, 'called', called, 'admitted', admitted,
  'next_ms', math.floor(next_ms), 'lapsed', lapsed, 'late_steps', late_steps, 'lapsed_admitted', late_admitted,
  'lapsed_reservations', late_reservations, 'pace', pace, 'state', state, 'left', left, 'inside', inside + people)
return {'admitted', now_ms, called, admitted}
