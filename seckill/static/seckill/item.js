// One item of the sale for one buyer: reports to item_state.js what happens, shows the state on the card, makes the calls.

import { atServerTime, now, sampled } from "../shop/server_clock.js";
import { TemporaryError, backoff, reserve, sleep } from "./api.js";
import { Card } from "./card.js";
import { buttonOf, lineButtonOf } from "./item_buttons.js";
import { buyerPhase, hasEnded, initialState, isCurrent, isPaid, next } from "./item_state.js";
import { stockAfterAnswer, stockAfterLive } from "./item_stock.js";
import { WaitingLine } from "./line.js";
import { tabMemory } from "./memory.js";
import { ItemPass, PassRefused, momentInAdvance } from "./passes.js";
import { Receipts } from "./receipts.js";

// The page's clock may be ahead of the server's by this much; up to here, "not open yet" is retried.
const EARLY_MS = 3_000;
// How long the buyer can read the message before the page goes to the order.
const READING_MS = 1_800;

export class Item {
  constructor(root, sale) {
    this.sale = sale;
    this.card = new Card(root, sale);
    this.data = root.dataset;
    const { availability, phase, perBuyerMax } = root.dataset;
    this.stock = JSON.parse(root.dataset.figures);
    this.state = initialState({
      availability, paused: phase === "paused", max: Number(perBuyerMax),
      hasLine: "lineUrl" in root.dataset, room: sale.hasRoom ? "waiting" : null,
    });
    if (this.card.form && sale.buyer) this.prepare();
  }

  async prepare() {
    const key = `${this.sale.buyer}:${this.data.item}`;
    this.keys = { scheduled: `scheduled:${key}`, reservation: `reservation:${key}` };
    this.pass = new ItemPass({ url: this.data.passesUrl, key: `pass:${key}` });
    this.receipts = new Receipts(key);
    const followed = JSON.parse(tabMemory.get(this.keys.reservation) ?? "null");
    const others = this.receipts.all().filter(({ id }) => id !== followed?.id);
    this.card.form.addEventListener("submit", (event) => { event.preventDefault(); this.onPress(); });
    this.card.form.addEventListener("change", () => {
      if (this.step === "scheduled") this.dispatch({ type: "units_chosen", units: this.card.unitsOr(this.state.units) });
    });
    const waitingFor = Number(tabMemory.get(this.keys.scheduled));
    const load = (kept) => this.dispatch({ type: "loaded", phase: this.phase, sinceOpeningMs: now() - this.sale.opensMs, ...kept });
    load({ reservation: followed ?? others.shift() ?? null, unanswered: this.pass.unanswered, waitingFor });
    // The header and My orders show what becomes of these.
    for (const reservation of others) this.receipts.waitForOrder(reservation);
    if (this.state.line) this.line = new WaitingLine(this);
    this.line?.load();
    // By the shop's clock: the visitor's own may have said that the opening was long ago.
    await sampled;
    if (this.step === "idle" && !this.state.message) load({ waitingFor });
    if (this.phase === "upcoming" && !this.sale.hasRoom) atServerTime(momentInAdvance(this.sale), () => this.fetchPassInAdvance());
  }

  get phase() { return buyerPhase(this.state, { nowMs: now(), opensMs: this.sale.opensMs, closesMs: this.sale.closesMs }); }
  get step() { return this.state.step; }
  get changes() { return this.state.changes; }
  get busy() { return this.step === "scheduled" || this.step === "reserving"; }

  // Every change of the state goes through here: it is shown and remembered, and a call that it asks for is begun.
  dispatch(event) {
    const before = this.state;
    const hadFocus = this.card.form && this.card.hasFocus;
    this.state = next(before, event);
    const { step, reservation } = this.state;
    this.show(before);
    this.remember(before);
    if (step !== before.step && step === "scheduled") this.sale.keepAwake();
    if (step !== before.step && step === "reserving") this.reserve(event.type === "pressed" ? this.sale.turnMs(1) : 0);
    if (reservation && reservation !== before.reservation) {
      if (hadFocus && !this.state.limit.remaining) this.card.focusLink();
      this.follow(reservation, { quietly: event.type === "loaded" || this.state.message?.detail === "paid" });
    }
  }

  show(before) {
    const { limit, message, units } = this.state;
    if (limit !== before.limit) this.card.setRemaining(limit);
    if (units && units !== before.units) this.card.units = units;
    if (message !== before.message) {
      if (message) this.card.showMessage(message, limit);
      else this.card.clearMessage();
    }
    this.updateButton();
  }

  // For a reload of the page.
  remember(before) {
    const { keys, state: { step, units, reservation } } = this;
    if (!keys) return;
    if (step === "scheduled") tabMemory.set(keys.scheduled, units);
    else tabMemory.remove(keys.scheduled);
    if (reservation && reservation !== before.reservation) tabMemory.set(keys.reservation, JSON.stringify(reservation));
  }

  updateButton() {
    const { text, off, hidden } = buttonOf(this.state, this.phase);
    this.card.setButton(this.sale.texts.button[text], { step: this.step, off, hidden });
    if (!this.keys) return;
    const line = lineButtonOf(this.state, this.phase);
    this.card.setLineButton(this.sale.texts.line[line.text], line);
  }

  onPress() {
    const { phase } = this;
    if (buttonOf(this.state, phase).off || !this.card.valid) return;
    this.dispatch({ type: "pressed", phase, units: this.card.units });
    if (this.step === "scheduled" && now() >= this.sale.opensMs - this.sale.passLeadMs) this.fetchPassInAdvance();
  }

  // The server's clock has reached the opening. Pages that wait take turns in the first half of the time that the server
  // gives, and presses after the opening in the second half: a buyer who pressed before is not behind one who presses now.
  onOpening() {
    this.takeTurn(this.sale.turnMs(0));
    this.updateButton();
  }

  takeTurn(ms) { setTimeout(() => this.dispatch({ type: "turn_came" }), ms - now()); }

  // A buyer who counts on the page hears of a refusal while there is time to do something about it; the others when they
  // press the button, which asks again.
  fetchPassInAdvance() {
    const onRefused = (answer) => { if (this.step === "scheduled") this.onPassRefused(answer); };
    this.pass.ensureInAdvance({ opensMs: this.sale.opensMs, onRefused });
  }

  onPassRefused({ status, code }) {
    this.dispatch({ type: "pass_refused", status, code, hasText: code in this.sale.texts.outcomes, nowMs: now() });
  }

  async reserve(turnMs) {
    try {
      if (turnMs > now()) await sleep(turnMs - now());
      const answer = await this.reserveWithRetries();
      if (answer) this.onAnswer(answer);
    } catch (error) {
      if (error instanceof PassRefused) {
        this.onPassRefused(error.answer);
      } else if (error instanceof TemporaryError) {
        this.dispatch({ type: "gave_up", unanswered: this.pass.unanswered, nowMs: now() });
      } else {
        this.dispatch({ type: "failed" });
        throw error;
      }
    }
  }

  // Repeats the call with the same pass until there is an answer: that never reserves twice, a new pass could. Null if
  // the reservation of an unanswered call was found, which is then followed.
  async reserveWithRetries() {
    const giveUp = () => this.phase === "ended";
    const onRetry = (attempt, { problem }) => this.dispatch({ type: "retrying", attempt, code: problem?.code });
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.pass.ensure({ onRetry, giveUp, onProof: () => this.sale.announce(this.sale.texts.announcements.proof) });
        if (this.pass.expired) {
          if (await this.findReservation()) return null;
          continue;
        }
        const units = this.pass.unanswered ? this.pass.units : this.card.unitsOr(this.state.units);
        this.pass.markSent(units);
        this.dispatch({ type: "sent" });
        const answer = await reserve(this.data.reserveUrl, this.pass.text, units);
        if (answer.code === "pass_expired") {
          if (await this.findReservation()) return null;
          continue;
        }
        this.pass.markAnswered();
        if (answer.code === "pass_invalid" && attempt === 0) this.pass.discard();
        else if (answer.code !== "not_open" || this.sale.opensMs - now() > EARLY_MS) return answer;
        else await sleep(Math.max(0, this.sale.opensMs - now()) + 20 + 40 * attempt);
      } catch (error) {
        if (!(error instanceof TemporaryError) || giveUp()) throw error;
        onRetry(attempt + 1, error);
        await backoff(attempt, error.retryAfterMs);
      }
    }
  }

  // For a pass that expired before its answer came. A new pass is only safe if this one certainly reserved nothing.
  async findReservation() {
    const found = this.pass.unanswered ? await this.pass.reservation() : null;
    const reservation = { status_url: this.pass.statusUrl, ...found };
    this.pass.discard();
    if (found) this.dispatch({ type: "found", reservation });
    return Boolean(found);
  }

  onAnswer({ ok, code, body }) {
    if (ok || code === "hold_ended") this.pass.discard();
    if (ok) this.receipts.keep(body);
    const isKnown = this.state.limitIsKnown;
    this.setStock(stockAfterAnswer(this.stock, { ok, code, units: body?.units, nowMs: now() }));
    this.dispatchToAllTabs({ type: "answered", ok, code, body, nowMs: now() });
    // The page may leave for the order before it has the answer, so the other tabs ask for themselves.
    if (ok && !isKnown) {
      this.sale.askMe();
      this.tellOtherTabs({});
    }
    if (code === "limit_reached") this.sale.askMe();
  }

  // The buyer's other tabs show the same.
  dispatchToAllTabs(event) {
    const before = this.state.limit;
    this.dispatch(event);
    if (this.state.limit !== before) this.tellOtherTabs({ limit: this.state.limit });
  }

  tellOtherTabs(news) { this.sale.tellOtherTabs({ item: this.data.item, ...news }); }

  hearLimit(limit) {
    this.dispatch({ type: "heard", limit });
    if (!limit) this.sale.askMe();
  }

  setHad(units, changes, place) {
    if (place) this.line?.found(place);
    if (isCurrent(this.state, changes)) this.dispatch({ type: "had", units, changes });
    else if (this.step !== "reserving") this.sale.askMe();
  }

  showOpenHold(hold) { this.dispatch({ type: "hold_seen", hold }); }

  updateLive(live, askedMs) {
    this.setStock(stockAfterLive(this.stock, live, askedMs));
    const { availability, left } = this.stock;
    const { paused } = this.state;
    this.dispatch({ type: "live", live: { ...live, availability, left }, askedMs, nowMs: now(), units: this.card.units });
    // Pages that still wait when a pause ends take turns as at the opening.
    if (paused && this.phase === "open") this.takeTurn(this.sale.turnMs(0, now()));
  }

  setStock(stock) {
    if (stock === this.stock) return;
    this.stock = stock;
    this.card.setStock(stock);
  }

  // Waits for the order of a reservation, then goes to it, unless another item of the page is still reserving. If there
  // are several reservations to pay, it goes to the list: each has a deadline of its own.
  async follow(reservation, { quietly }) {
    const { sale } = this;
    sale.toPay.add(reservation.status_url);
    const readAt = performance.now() + READING_MS;
    const status = await this.receipts.waitForOrder(reservation);
    if (!status || hasEnded(status.status) || isPaid(status.status)) sale.toPay.delete(reservation.status_url);
    if (this.state.reservation !== reservation) return;
    this.dispatchToAllTabs({ type: "followed", reservation, status, quietly, nowMs: now() });
    if (!this.state.reservation) tabMemory.remove(this.keys.reservation);
    if (!status?.order || !this.state.reservation || quietly) return;
    await sleep(readAt - performance.now());
    if (this.state.reservation !== reservation || sale.busy(this)) return;
    location.assign(sale.toPay.size > 1 ? sale.ordersUrl : `${sale.ordersUrl}${status.order}/`);
  }
}
