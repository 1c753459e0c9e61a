// The server's clock, estimated from the times in its answers. The visitor's own clock may be wrong and is not used: only
// the time that has passed since the page was opened.

const SAMPLES_MAX = 8;
// A browser's timers may be late, never early. A long wait is split, so that a better estimate of the clock counts.
const WAIT_MS_MAX = 1000;

let samples = [];
let haveSample;

// Resolves at the first sample. Until then, `now` is the visitor's own clock.
export const sampled = new Promise((resolve) => { haveSample = resolve; });

// The server's clock showed `serverMs` at some time between `sentAt` and `receivedAt`.
export function addSample(serverMs, sentAt, receivedAt) {
  if (!Number.isFinite(serverMs)) return;
  const roundTrip = receivedAt - sentAt;
  samples.push({ offset: serverMs + roundTrip / 2 - receivedAt, roundTrip });
  samples = samples.slice(-SAMPLES_MAX);
  haveSample();
}

// For a page without another call: the time in the header of an answer, which has no fraction of a second.
export async function sampleDate() {
  const sentAt = performance.now();
  try {
    const { headers } = await fetch(location.pathname, { method: "HEAD", cache: "no-store", credentials: "omit" });
    addSample(Date.parse(headers.get("Date")) + 500, sentAt, performance.now());
  } catch { /* the visitor's own clock has to do */ }
}

// Milliseconds since 1970 by the server's clock. The sample with the shortest round trip is the most exact.
export function now() {
  const best = samples.reduce((a, b) => (b.roundTrip < a.roundTrip ? b : a), samples[0]);
  return performance.now() + (best ? best.offset : performance.timeOrigin);
}

// Whether the time is the server's. The visitor's own clock may be a day or more beside it.
export const isSampled = () => samples.length > 0;

// While the machine sleeps, the page's time may stand still: from now on, the next sample replaces the ones before.
export function distrustSamples() {
  samples = samples.slice(-1).map((sample) => ({ ...sample, roundTrip: Infinity }));
}

// Calls `callback` once when the server's clock reaches `serverMs`. Returns a function that cancels it.
export function atServerTime(serverMs, callback) {
  let timer;
  const wait = () => {
    const left = serverMs - now();
    if (left <= 0) callback();
    else timer = setTimeout(wait, Math.min(left, WAIT_MS_MAX));
  };
  timer = setTimeout(wait, 0);
  return () => clearTimeout(timer);
}

// The page itself is the first sample: the server wrote its clock into it. A public page has none.
const page = document.querySelector("[data-now-ms]");
const [navigation] = performance.getEntriesByType("navigation");
if (page?.dataset.nowMs && navigation) {
  addSample(Number(page.dataset.nowMs), navigation.requestStart, navigation.responseStart);
  if (navigation.type === "back_forward") distrustSamples();
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) distrustSamples(); });
