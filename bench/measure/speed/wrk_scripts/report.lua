-- For wrk: sends one request again and again, and reports the run as one line of JSON.
--
-- ARGUMENTS  method, body (both may be left out)

function init(arguments)
  wrk.method = arguments[1] or 'GET'
  if arguments[2] then
    wrk.body = arguments[2]
    wrk.headers['Content-Type'] = 'application/json'
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'REPORT {"requests": %d, "seconds": %.6f, "bytes": %d, "p50_ms": %.3f, "p99_ms": %.3f, '
      .. '"above_399": %d, "connect": %d, "read": %d, "write": %d, "timeout": %d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
