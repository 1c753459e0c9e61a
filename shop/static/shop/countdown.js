// Every element with data-countdown="<ms since 1970>" shows the time left, and fires `countdown-over` once.

import { now, sampleDate } from "./server_clock.js";

const TICK_MS = 200;
const { day = "{days} d {clock}", days = "{days} d {clock}" } = document.querySelector("[data-days]")?.dataset ?? {};
const finished = new WeakMap();

const twoDigits = (number) => String(number).padStart(2, "0");

// 00:44, 14:59, 1:59:59, 2 days 03:04:05; seconds are rounded up, so that zero means zero. The same as in shop/times/time_left.py.
export function remaining(ms) {
  const total = Math.max(0, Math.ceil(ms / 1000));
  const [wholeDays, hours, minutes, seconds] = [
    Math.floor(total / 86400), Math.floor(total / 3600) % 24, Math.floor(total / 60) % 60, total % 60];
  if (wholeDays) {
    return (wholeDays === 1 ? day : days)
      .replace("{days}", wholeDays).replace("{clock}", `${twoDigits(hours)}:${twoDigits(minutes)}:${twoDigits(seconds)}`);
  }
  return hours ? `${hours}:${twoDigits(minutes)}:${twoDigits(seconds)}` : `${twoDigits(minutes)}:${twoDigits(seconds)}`;
}

function tick() {
  for (const element of document.querySelectorAll("[data-countdown]")) {
    const end = Number(element.dataset.countdown);
    const left = end - now();
    const text = remaining(left);
    if (element.textContent !== text) element.textContent = text;
    element.classList.remove("unknown");
    element.classList.toggle("urgent", left > 0 && left < 60_000);
    if (left <= 0 && finished.get(element) !== end) {
      finished.set(element, end);
      element.dispatchEvent(new CustomEvent("countdown-over", { bubbles: true }));
    }
  }
}

// While the machine slept, a countdown may have stood still, and the network may be back later than the page. The page of
// a sale asks for the time by itself.
function askForTime() {
  if (!document.hidden && !document.getElementById("sale") && document.querySelector("[data-countdown]")) sampleDate();
}

export function start() {
  tick();
  setInterval(tick, TICK_MS);
  document.addEventListener("visibilitychange", askForTime);
  window.addEventListener("online", askForTime);
}
