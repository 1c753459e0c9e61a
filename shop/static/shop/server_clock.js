// The server's clock, as far as a page can know it. The visitor's own clock is never asked: only how much time has
// passed since the page was opened, which no wrong clock changes.

const SAMPLES_MAX = 8;
// Timers of a browser may be late, never early; a long one is cut so that a corrected clock is noticed on the way.
const WAIT_MS_MAX = 1000;

let samples = [];

// One look at the server's clock: it said `serverMs` at some moment between `sentAt` and `receivedAt`.
export function learn(serverMs, sentAt, receivedAt) {
  if (!Number.isFinite(serverMs)) return;
  const roundTrip = receivedAt - sentAt;
  samples.push({ offset: serverMs + roundTrip / 2 - receivedAt, roundTrip });
  samples = samples.slice(-SAMPLES_MAX);
}

// Milliseconds since 1970 by the server's clock. The quickest round trip knew best.
export function now() {
  const best = samples.reduce((a, b) => (b.roundTrip < a.roundTrip ? b : a), samples[0]);
  return performance.now() + (best ? best.offset : performance.timeOrigin);
}

// After a sleep of the machine the time passed may be counted wrongly: the next sample counts alone.
export function doubt() {
  samples = samples.slice(-1).map((sample) => ({ ...sample, roundTrip: Infinity }));
}

// Calls `callback` once when the server's clock reaches `serverMs`. Returns a function that calls it off.
export function at(serverMs, callback) {
  let timer;
  const wait = () => {
    const left = serverMs - now();
    if (left <= 0) callback();
    else timer = setTimeout(wait, Math.min(left, WAIT_MS_MAX));
  };
  timer = setTimeout(wait, 0);
  return () => clearTimeout(timer);
}

// The page itself is the first sample: the server wrote its clock into it between request and response.
const page = document.getElementById("page");
const [navigation] = performance.getEntriesByType("navigation");
if (page && navigation) {
  learn(Number(page.dataset.nowMs), navigation.requestStart, navigation.responseStart);
  if (navigation.type === "back_forward") doubt();
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) doubt(); });
