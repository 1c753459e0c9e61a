-- For wrk: asks for a unit with a different pass in each request, and reports as report.lua does.
--
-- ARGUMENTS  path of a file with one pass on each line; `again` to start over after the last pass, or `once`; the body,
--            or nothing

local folder = debug.getinfo(1, 'S').source:match('^@(.*)/')
dofile(folder .. '/report.lua')

local passes, next_pass, again = {}, 1, false
local before, after

function init(arguments)
  for line in io.lines(arguments[1]) do
    passes[#passes + 1] = line
  end
  assert(#passes > 0, 'the file has no passes')
  again = arguments[2] == 'again'
  local body = arguments[3] or ''
  if body ~= '' then
    wrk.headers['Content-Type'] = 'application/json'
  end
  wrk.headers['Authorization'] = 'Pass ?'
  before, after = wrk.format('POST', nil, nil, body):match('^(.-Pass )%?(.*)$')
end

function request()
  local pass = passes[next_pass]
  if not pass then
    -- Nothing more to send: the connection waits until wrk ends.
    return ''
  end
  next_pass = next_pass + 1
  if again and next_pass > #passes then
    next_pass = 1
  end
  return before .. pass .. after
end
