-- For wrk: asks for another person's place in a waiting room in each request, and reports as report.lua does.
--
-- ARGUMENTS  path of a file with one place token on each line; they are sent in turn

local folder = debug.getinfo(1, 'S').source:match('^@(.*)/')
dofile(folder .. '/report.lua')

local requests, next_request = {}, 0

function init(arguments)
  for token in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format('GET', nil, {['Authorization'] = 'Place ' .. token})
  end
  assert(#requests > 0, 'the file has no tokens')
end

function request()
  next_request = next_request % #requests + 1
  return requests[next_request]
end
