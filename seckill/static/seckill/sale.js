// The sale page: its countdown, its items, and what is announced to screen readers. See item.js for one item.

import { atServerTime, now } from "../shop/server_clock.js";
import { Item } from "./item.js";

const root = document.getElementById("sale");
const announcer = document.getElementById("announcer");
const phaseText = root.querySelector("[data-phase-text]");
const countdown = root.querySelector("[data-countdown]");
const texts = JSON.parse(document.getElementById("texts").textContent);

const MINUTE_MS = 60_000;
const TEN_SECONDS_MS = 10_000;

// The same buyer's other pages, which show how many units are still possible.
const otherTabs = new BroadcastChannel(`sale:${root.dataset.buyer}`);

const sale = {
  texts,
  opensMs: Number(root.dataset.opensMs),
  closesMs: Number(root.dataset.closesMs),
  passLeadMs: Number(root.dataset.passLeadMs),
  buyer: root.dataset.buyer,
  signInUrl: root.dataset.signInUrl,
  ordersUrl: root.dataset.ordersUrl,
  phase: root.dataset.phase,
  items: [],
  // The reservations of this page that are not paid yet, by their status URL.
  toPay: new Set(),

  // Whether another item of this page is scheduled or reserving.
  busy(item) { return this.items.some((other) => other !== item && other.busy); },

  // Resolves as soon as the page is visible.
  visible() {
    if (!document.hidden) return Promise.resolve();
    return new Promise((resolve) => {
      document.addEventListener("visibilitychange", () => resolve(this.visible()), { once: true });
    });
  },

  // A phone that goes to sleep would miss the start. Everything else works without the lock.
  async keepAwake() {
    try { await navigator.wakeLock?.request("screen"); } catch { /* refused, for example on a low battery */ }
  },

  // The phase that all items share, which may be a pause; otherwise the phase by the sale's times.
  updatePhase() {
    const phases = new Set(this.items.map((item) => item.phase));
    const phase = phases.size === 1 ? [...phases][0]
      : now() >= this.closesMs ? "ended" : now() < this.opensMs ? "upcoming" : "open";
    if (phase === this.phase) return;
    const resumed = this.phase === "paused" && phase === "open";
    this.phase = phase;
    root.dataset.phase = phase;
    phaseText.textContent = texts.phase[phase];
    countdown.dataset.countdown = phase === "upcoming" ? this.opensMs : this.closesMs;
    this.announce(texts.announcements[resumed ? "resumed" : phase] ?? "");
  },

  // The shop may move the closing time while the page is open.
  setClosing(ms) {
    if (ms === this.closesMs) return;
    this.closesMs = ms;
    if (this.phase !== "upcoming") countdown.dataset.countdown = ms;
    updateAtClosing();
  },

  tellOtherTabs(news) { otherTabs.postMessage(news); },

  announce(text) { announcer.textContent = text; },
};

function updateAtClosing() {
  if (sale.closesMs <= now()) return;
  atServerTime(sale.closesMs, () => {
    for (const item of sale.items) item.updateButton();
    sale.updatePhase();
  });
}

function announceBefore(ms, text) {
  if (sale.opensMs - ms > now()) atServerTime(sale.opensMs - ms, () => sale.announce(text));
}

sale.items = [...root.querySelectorAll("[data-item]")].map((element) => new Item(element, sale));

otherTabs.addEventListener("message", ({ data: { item, limit } }) => {
  sale.items.find((other) => other.data.item === item && other.card.form)?.showLimit(limit);
});

announceBefore(MINUTE_MS, texts.announcements.minute_left);
announceBefore(TEN_SECONDS_MS, texts.announcements.seconds_left);
if (sale.opensMs > now()) {
  atServerTime(sale.opensMs, () => {
    for (const item of sale.items) item.onOpening();
    sale.updatePhase();
  });
}
updateAtClosing();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && sale.items.some((item) => item.step === "scheduled")) sale.keepAwake();
});
