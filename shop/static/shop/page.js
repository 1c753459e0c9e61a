// What every page does: countdowns, times in the visitor's zone, and silence while nobody looks.

import { start } from "./countdown.js";
import { locale } from "./locale.js";

const TURN_MS_MIN = 300;
const TURN_MS_SPREAD = 2500;

const format = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const formatLong = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

function localTimes() {
  for (const element of document.querySelectorAll("time[data-local-time]")) {
    const moment = new Date(element.dateTime);
    element.textContent = format.format(moment);
    element.title = formatLong.format(moment);
    delete element.dataset.localTime;
  }
}

localTimes();
start();
document.addEventListener("htmx:afterSettle", localTimes);

// A page in the background asks for nothing.
document.addEventListener("htmx:beforeRequest", (event) => { if (document.hidden) event.preventDefault(); });

// On the home page a sale has just opened or closed. Not everybody asks in the same moment.
document.getElementById("sales")?.addEventListener("countdown-over", () => {
  const wait = TURN_MS_MIN + Math.random() * TURN_MS_SPREAD;
  setTimeout(() => document.body.dispatchEvent(new Event("sale-turned")), wait);
});
