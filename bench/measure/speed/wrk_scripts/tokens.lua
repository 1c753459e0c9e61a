-- For wrk: sends a different token in each request, and reports as report.lua does.
--
-- ARGUMENTS  path of a file with one token on each line; `again` to start over after the last one, or `once`; the method;
--            the word before the token in Authorization; the body, or nothing

local folder = debug.getinfo(1, 'S').source:match('^@(.*)/')
dofile(folder .. '/report.lua')

local tokens, next_token, again = {}, 1, false
local before, after

function init(arguments)
  for line in io.lines(arguments[1]) do
    tokens[#tokens + 1] = line
  end
  assert(#tokens > 0, 'the file has no tokens')
  again = arguments[2] == 'again'
  local body = arguments[5]
  if body and body ~= '' then
    wrk.headers['Content-Type'] = 'application/json'
  end
  wrk.headers['Authorization'] = arguments[4] .. ' ?'
  before, after = wrk.format(arguments[3], nil, nil, body):match('^(.-' .. arguments[4] .. ' )%?(.*)$')
end

function request()
  local token = tokens[next_token]
  if not token then
    -- Nothing more to send: the connection waits until wrk ends.
    return ''
  end
  next_token = next_token + 1
  if again and next_token > #tokens then
    next_token = 1
  end
  return before .. token .. after
end
