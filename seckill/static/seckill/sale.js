// The sale page: its clock, its items, and what is announced. See item.js for one item's story.

import { at, now } from "../shop/server_clock.js";
import { Item } from "./item.js";

const root = document.getElementById("sale");
const said = document.getElementById("said");
const clockWords = root.querySelector("[data-phase-words]");
const countdown = root.querySelector("[data-countdown]");
const words = JSON.parse(document.getElementById("words").textContent);

const MINUTE_MS = 60_000;
const TEN_SECONDS_MS = 10_000;

const sale = {
  words,
  opensMs: Number(root.dataset.opensMs),
  closesMs: Number(root.dataset.closesMs),
  passLeadMs: Number(root.dataset.passLeadMs),
  buyer: root.dataset.buyer,
  signInUrl: root.dataset.signInUrl,
  ordersUrl: root.dataset.ordersUrl,
  phase: root.dataset.phase,
  items: [],

  // Whether another item of this page still has something to do for its buyer.
  busy(item) { return this.items.some((other) => other !== item && other.busy); },

  // Resolves as soon as somebody looks at the page.
  visible() {
    if (!document.hidden) return Promise.resolve();
    return new Promise((resolve) => {
      document.addEventListener("visibilitychange", () => resolve(this.visible()), { once: true });
    });
  },

  // A phone that goes to sleep would miss the start. Where the browser cannot promise it, nothing is lost.
  async keepAwake() {
    try { await navigator.wakeLock?.request("screen"); } catch { /* refused, for example on a low battery */ }
  },

  // What the items agree on, which is how a pause shows; else what the window says.
  phaseMayHaveChanged() {
    const phases = new Set(this.items.map((item) => item.phase));
    const phase = phases.size === 1 ? [...phases][0]
      : now() >= this.closesMs ? "ended" : now() < this.opensMs ? "upcoming" : "open";
    if (phase === this.phase) return;
    const resumed = this.phase === "paused" && phase === "open";
    this.phase = phase;
    root.dataset.phase = phase;
    clockWords.textContent = words.phase[phase];
    countdown.dataset.countdown = phase === "upcoming" ? this.opensMs : this.closesMs;
    this.announce(words.said[resumed ? "resumed" : phase] ?? "");
  },

  // The shop may move the end while the page is open.
  closesAt(ms) {
    if (ms === this.closesMs) return;
    this.closesMs = ms;
    if (this.phase !== "upcoming") countdown.dataset.countdown = ms;
    atTheEnd();
  },

  announce(text) { said.textContent = text; },
};

function atTheEnd() {
  if (sale.closesMs <= now()) return;
  at(sale.closesMs, () => {
    for (const item of sale.items) item.show();
    sale.phaseMayHaveChanged();
  });
}

function announceBefore(ms, text) {
  if (sale.opensMs - ms > now()) at(sale.opensMs - ms, () => sale.announce(text));
}

sale.items = [...root.querySelectorAll("[data-item]")].map((element) => new Item(element, sale));

announceBefore(MINUTE_MS, words.said.minute_left);
announceBefore(TEN_SECONDS_MS, words.said.seconds_left);
if (sale.opensMs > now()) {
  at(sale.opensMs, () => {
    for (const item of sale.items) item.opened();
    sale.phaseMayHaveChanged();
  });
}
atTheEnd();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && sale.items.some((item) => item.step === "armed")) sale.keepAwake();
});
