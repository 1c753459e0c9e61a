-- For wrk: asks for a unit with a different pass in each request, and reports as report.lua does.
--
-- ARGUMENTS  path of a file with one pass on each line; `again` to start over after the last pass, `stop` to stop there

local folder = debug.getinfo(1, 'S').source:match('^@(.*)/')
dofile(folder .. '/report.lua')

local BODY = '{"units": 1}'
local passes, next_pass, again = {}, 1, false
local before, after

function init(arguments)
  for line in io.lines(arguments[1]) do
    passes[#passes + 1] = line
  end
  assert(#passes > 0, 'the file has no passes')
  again = arguments[2] == 'again'
  wrk.headers['Content-Type'] = 'application/json'
  wrk.headers['Authorization'] = 'Pass ?'
  before, after = wrk.format('POST', nil, nil, BODY):match('^(.-Pass )%?(.*)$')
end

function request()
  local pass = passes[next_pass]
  next_pass = next_pass + 1
  if next_pass > #passes then
    if again then
      next_pass = 1
    else
      wrk.thread:stop()
    end
  end
  return before .. pass .. after
end
