-- For wrk: asks something else in each request, by a number at the end of the query, and reports as report.lua does.

local folder = debug.getinfo(1, 'S').source:match('^@(.*)/')
dofile(folder .. '/report.lua')

-- Another run must not begin with numbers that have just been asked.
local number = os.time() * 1000000

function request()
  number = number + 1
  return wrk.format('GET', string.format('%s&n=%.0f', wrk.path, number))
end
