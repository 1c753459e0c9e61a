// The sale page: its countdown, its items, and what is announced to screen readers. See item_state.js for one item.

import { askMeUntilAnswered, buyer, showInHeader } from "../shop/me.js";
import { atServerTime, now, sampled } from "../shop/server_clock.js";
import { TemporaryError, getLive } from "./api.js";
import { noteText, writeNote } from "./card.js";
import { Item } from "./item.js";
import { phaseOf } from "./item_state.js";
import { Room } from "./room.js";
import { sleepWhileVisible, visible } from "./visible.js";

const root = document.getElementById("sale");
const announcer = document.getElementById("announcer");
const phaseText = root.querySelector("[data-phase-text]");
const countdown = root.querySelector("[data-countdown]");
const pauseNote = root.querySelector("[data-pause-note]");
const room = root.querySelector("#room");
const storeNote = root.querySelector("[data-store-unreachable]");
const texts = JSON.parse(document.getElementById("texts").textContent);

// The items begin by the server's clock, with its first answer, or after so long by the visitor's own.
const BEGINS_MS_MAX = 1_500;
const MINUTE_MS = 60_000;
const TEN_SECONDS_MS = 10_000;
const LIVE_ERRORS_MAX = 6;
// The server answers from a reading of the store that may be this old.
const LIVE_AGE_MS = 150;
// A proxy may keep answers that are not asked for as `fresh` for so long.
const PROXY_AGE_MS = 2_000;
// An answer without news (304) has no time and no new wait, so now and then a whole one is asked for.
const FRESH_EVERY_MS = 30_000;
// The page may come from two caches, of which each keeps it for a second; while PostgreSQL is away, it is the last good
// one, which is wrong as soon as it is there.
const reloadMs = () => 2_100 + Math.random() * 8_000 + (performance.now() < 3_000 ? 30_000 : 0);
// Shortly before the opening every page asks once more, each at its own moment: how far to spread the calls is then known.
const LAST_LOOK_MS = 3_000 + Math.random() * 7_000;

// The same buyer's other pages, which show how many units are still possible.
const otherTabs = new BroadcastChannel(`sale:${buyer}`);

const sale = {
  texts,
  opensMs: Number(root.dataset.opensMs),
  closesMs: Number(root.dataset.closesMs),
  passLeadMs: Number(root.dataset.passLeadMs),
  buyer,
  signInUrl: root.dataset.signInUrl,
  ordersUrl: root.dataset.ordersUrl,
  addressUrl: root.dataset.addressUrl,
  // Whether the buyer has saved no address, which would be asked for between the yes and the payment.
  needsAddress: false,
  phase: root.dataset.phase,
  hasRoom: Boolean(room),
  // Over how long pages that wait spread their calls at the opening; the server says it.
  openingSpreadMs: 0,
  items: [],
  // What a page without items of its own, as that of a draw, knows instead of their states: by the last answer.
  liveStates: [{ paused: root.dataset.phase === "paused" }],
  // The reservations of this page that are not paid yet, by their status URL.
  toPay: new Set(),

  // Whether another item of this page is scheduled or reserving.
  busy(item) { return this.items.some((other) => other !== item && other.busy); },

  // A moment by chance in the first (0) or the second half (1) of that spread.
  turnMs(half, fromMs = this.opensMs) { return fromMs + this.openingSpreadMs * (half + Math.random()) / 2; },

  // What the buyer has of the items, and the name in the header. Asked once more where something has changed meanwhile.
  async askMe() {
    this.asksAgain = this.asking;
    if (this.asking) return;
    this.asking = true;
    const changes = this.items.map((item) => item.changes);
    const me = await askMeUntilAnswered(root.dataset.meUrl).catch(() => null);
    this.asking = false;
    if (me) this.showMe(me, changes);
    if (this.asksAgain && !this.asking) this.askMe();
  },

  showMe(me, changes) {
    showInHeader(me);
    const asked = this.needsAddress;
    this.needsAddress = me.needs_address;
    for (const { step, state, card } of asked === this.needsAddress ? [] : this.items) {
      if (step === "scheduled" && state.message) card.showMessage(state.message, state.limit);
    }
    for (const [index, item] of this.items.entries()) {
      const id = Number(item.data.item);
      const had = me.items?.find((one) => one.id === id);
      if (had) item.setHad(had.units, changes[index], had.waiting);
      const hold = me.holds.find((one) => one.item === id);
      if (hold) item.showOpenHold(hold);
    }
  },

  // A phone that goes to sleep would miss the start. Everything else works without the lock.
  async keepAwake() {
    try { await navigator.wakeLock?.request("screen"); } catch { /* refused, for example on a low battery */ }
  },

  // The phase that all items share, which may be a pause; otherwise the phase by the sale's times.
  updatePhase() {
    const times = { nowMs: now(), opensMs: this.opensMs, closesMs: this.closesMs };
    const states = this.items.length ? this.items.map(({ state }) => state) : this.liveStates;
    const phases = new Set(states.map((state) => phaseOf(state, times)));
    const phase = phases.size === 1 ? [...phases][0] : phaseOf({ paused: false }, times);
    if (phase === this.phase) return;
    const resumed = this.phase === "paused" && phase === "open";
    this.phase = phase;
    root.dataset.phase = phase;
    phaseText.textContent = texts.phase[phase];
    countdown.dataset.countdown = phase === "upcoming" ? this.opensMs : this.closesMs;
    this.announce(texts.announcements[resumed ? "resumed" : phase] ?? "");
    // What else depends on the phase is written by the server alone.
    if (!this.items.length) reloadOnce();
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

function reloadOnce() {
  const ms = reloadMs();
  reloading ??= visible().then(() => setTimeout(() => location.reload(), ms));
}

function announceBefore(ms, text) {
  if (sale.opensMs - ms > now()) atServerTime(sale.opensMs - ms, () => sale.announce(text));
}

let hasBegun = false;
let waitingRoom = null;
let reloading = null;
// A press before the items have begun is made once more when they have.
const pressedEarly = new Set();

function pressEarly(event) {
  if (!event.target.matches("[data-item] form.buy")) return;
  event.preventDefault();
  pressedEarly.add(event.target);
}

function begin() {
  if (hasBegun) return;
  hasBegun = true;
  sale.items = [...root.querySelectorAll("[data-item]")].map((element) => new Item(element, sale));
  waitingRoom = buyer && room ? new Room(room, sale) : null;
  // First, since its answer also brings the token that other calls need.
  if (buyer) sale.askMe();
  waitingRoom?.run();
  root.removeEventListener("submit", pressEarly, true);
  for (const form of pressedEarly) form.requestSubmit();
  sampled.then(planTimes);
}

// The moments of the sale, by the server's clock. An item that began by another may wait for an opening that has been.
function planTimes() {
  announceBefore(MINUTE_MS, texts.announcements.minute_left);
  announceBefore(TEN_SECONDS_MS, texts.announcements.seconds_left);
  if (sale.opensMs > now() || sale.items.some(({ step, phase }) => step === "scheduled" && phase === "open")) {
    atServerTime(sale.opensMs, () => {
      for (const item of sale.items) item.onOpening();
      for (const part of root.querySelectorAll(".before-opening")) part.remove();
      sale.updatePhase();
      // A draw takes no entries any more, also where a pause goes on.
      if (!sale.items.length) reloadOnce();
    });
  }
  updateAtClosing();
}

// Asks for the figures of all items while the page is visible, as often as the server says: also after the end, which the
// shop may move. A page that becomes visible again asks at once. The first time it asks hidden too, for the clock.
async function pollLive() {
  let freshAt = -Infinity;
  let lookedLast = false;
  for (let errors = 0; ;) {
    if (hasBegun && await visible()) freshAt = -Infinity;
    const lastLook = sale.opensMs - LAST_LOOK_MS - now();
    const fresh = performance.now() - freshAt > FRESH_EVERY_MS || (lastLook <= 0 && !lookedLast);
    let wait = 0;
    try {
      const askedMs = now() - LIVE_AGE_MS - (fresh ? 0 : PROXY_AGE_MS);
      const { ok, body } = await getLive(root.dataset.liveUrl, { fresh });
      begin();
      if (ok) showLive(body, askedMs);
      if (fresh) freshAt = performance.now();
      // By both clocks, if this was the first answer.
      lookedLast ||= lastLook <= 0 && sale.opensMs - LAST_LOOK_MS <= now();
      wait = body?.poll_after_ms ?? 5000;
      errors = 0;
    } catch (error) {
      if (!(error instanceof TemporaryError)) throw error;
      errors = Math.min(errors + 1, LIVE_ERRORS_MAX);
      wait = Math.max(error.retryAfterMs, 1000 * 1.7 ** errors);
    }
    const untilLastLook = sale.opensMs - LAST_LOOK_MS - now();
    const most = lookedLast || untilLastLook <= 0 ? Infinity : untilLastLook + 1;
    await sleepWhileVisible(Math.min(wait * (1 + Math.random() * 0.4), most));
  }
}

function showLive(live, askedMs) {
  // It is said before the opening, and in its first seconds to pages that are opened then.
  if (now() < sale.opensMs || !sale.openingSpreadMs) sale.openingSpreadMs = live.opening_spread_ms ?? 0;
  storeNote.hidden = live.items.every((item) => item.availability !== "unavailable");
  const closes = live.items.map((item) => Date.parse(item.closes_at)).filter(Number.isFinite);
  if (closes.length) sale.setClosing(Math.max(...closes));
  if (live.items.every(({ availability }) => availability === "sold_out")) waitingRoom?.soldOut();
  if (sale.closesMs > now()) waitingRoom?.goOn();
  for (const item of sale.items) {
    const part = live.items.find((one) => one.id === Number(item.data.item));
    if (!part) continue;
    item.updateLive(part, askedMs);
    // A page that was opened after the end has no button for an item whose end was moved then.
    if (item.data.phase === "ended" && part.phase === "open") reloadOnce();
  }
  const states = live.items.map(({ phase }) => ({ paused: phase === "paused" }));
  if (live.items.every(({ phase }) => phase)) sale.liveStates = states;
  showPauseNotes(new Map(live.items.map(({ id, pause_note: note }) => [id, noteText(note)])));
  sale.updatePhase();
}

// The note of a pause of all items stands above them, that of a single one with it.
function showPauseNotes(notes) {
  const shared = new Set(notes.values()).size === 1 ? [...notes.values()][0] : "";
  writeNote(pauseNote, shared);
  for (const { card, data } of sale.items) card.setPauseNote(shared ? "" : notes.get(Number(data.item)) ?? "");
}

otherTabs.addEventListener("message", ({ data: { item, limit } }) => {
  sale.items.find((other) => other.data.item === item && other.card.form)?.hearLimit(limit);
});

if (buyer) root.addEventListener("submit", pressEarly, true);
setTimeout(begin, BEGINS_MS_MAX);
pollLive();
// Back shows the page as it was left. What the buyer has may have changed since.
window.addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && sale.items.some((item) => item.step === "scheduled")) sale.keepAwake();
  // It may have been saved in the other tab.
  if (!document.hidden && sale.needsAddress) sale.askMe();
});
