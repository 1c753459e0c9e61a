// One item of the sale for one buyer: idle, scheduled for the start, reserving, reserved.

import { atServerTime, now } from "../shop/server_clock.js";
import { TemporaryError, backoff, getStatus, reserve, sleep } from "./api.js";
import { Card, fill, limitText, timeOfDay } from "./card.js";
import { ItemPass, PassRefused } from "./passes.js";

// Pages that are open when passes can be had fetch theirs within this part of the time to the opening, each at its own
// moment; pages that are opened later within this time.
const PASS_SPREAD_SHARE = 0.5;
const PASS_SPREAD_LATE_MS = 4_000;
// The page's clock may be ahead of the server's by this much; up to here, "not open yet" is retried.
const EARLY_MS = 3_000;
// A page that is reloaded so soon after the opening still reserves what it was waiting for.
const JUST_OPENED_MS = 10_000;
// How long the buyer can read the message before the page goes to the order.
const READING_MS = 1_800;
const ENDED_STATUSES = ["expired", "cancelled", "rejected", "refund_due", "refunded"];
const PAID_STATUSES = ["paid", "shipped", "completed"];

export class Item {
  constructor(root, sale) {
    this.sale = sale;
    this.texts = sale.texts;
    this.card = new Card(root, sale.texts);
    this.data = root.dataset;
    this.live = { availability: root.dataset.availability };
    this.paused = root.dataset.phase === "paused";
    this.step = "idle";
    this.retryable = false;
    // The code of the refusal that the message shows, and when it came.
    this.refusal = null;
    this.refusedAt = 0;
    this.reservation = null;
    // What the buyer can still take; a hint, since only the store decides. The page does not know what the buyer has.
    const max = Number(root.dataset.perBuyerMax);
    this.limit = { remaining: max, max };
    // Whether the limit has what the buyer had when it last may have changed.
    this.limitIsKnown = false;
    // How often it may have changed: with each call to reserve, and with news of another tab.
    this.changes = 0;
    if (this.card.form && sale.buyer) this.prepare();
  }

  prepare() {
    const key = `${this.sale.buyer}:${this.data.item}`;
    this.keys = { scheduled: `scheduled:${key}`, reservation: `reservation:${key}` };
    this.pass = new ItemPass({ url: this.data.passesUrl, key: `pass:${key}` });
    this.card.form.addEventListener("submit", (event) => { event.preventDefault(); this.onPress(); });
    this.card.form.addEventListener("change", () => { if (this.step === "scheduled") this.schedule(); });
    if (this.phase === "upcoming") this.fetchPassInAdvance();
    this.resume();
    this.updateButton();
  }

  // From the sale's times on the server's clock; a pause is only known from the server's answers.
  get phase() {
    if (now() >= this.sale.closesMs) return "ended";
    if (this.paused) return "paused";
    return now() < this.sale.opensMs ? "upcoming" : "open";
  }

  get busy() { return this.step === "scheduled" || this.step === "reserving"; }

  fetchPassInAdvance() {
    const earliest = this.sale.opensMs - this.sale.passLeadMs;
    const spread = earliest > now() ? this.sale.passLeadMs * PASS_SPREAD_SHARE : Math.min(PASS_SPREAD_LATE_MS, (this.sale.opensMs - now()) / 4);
    atServerTime(Math.max(earliest, now()) + Math.random() * spread, () => {
      // A refusal or a fault is shown when the buyer presses the button, which asks again.
      this.pass.ensure({ giveUp: () => this.phase !== "upcoming" }).catch(() => {});
    });
  }

  // After a reload: a reservation is followed further, and a call without an answer is repeated.
  resume() {
    const reservation = JSON.parse(sessionStorage.getItem(this.keys.reservation) ?? "null");
    if (reservation) this.followReservation(reservation, { again: true });
    else if (this.pass.unanswered) this.reserve();
    else if (now() < this.sale.opensMs + JUST_OPENED_MS && this.phase !== "ended") this.resumeSchedule();
    else sessionStorage.removeItem(this.keys.scheduled);
  }

  // The buyer was waiting for the start, with the units chosen before the reload.
  resumeSchedule() {
    const units = Number(sessionStorage.getItem(this.keys.scheduled));
    if (!units) return;
    this.card.units = Math.min(units, Math.max(1, this.limit.remaining));
    if (this.phase === "upcoming") this.schedule();
    else this.reserve();
  }

  onPress() {
    const off = this.card.button.getAttribute("aria-disabled") === "true";
    if (this.step === "reserving" || off || !this.card.valid) return;
    if (this.step === "scheduled" && this.phase === "upcoming") this.cancelSchedule();
    else if (this.phase === "upcoming") this.schedule();
    else this.reserve();
  }

  schedule() {
    this.step = "scheduled";
    this.turn = null;
    sessionStorage.setItem(this.keys.scheduled, this.card.units);
    this.sale.keepAwake();
    this.showScheduled();
    this.updateButton();
  }

  showScheduled() {
    const { title, detail } = this.texts.scheduled;
    this.card.showMessage("scheduled", { title, detail: fill(detail, { units: this.card.units, product: this.card.name }) });
  }

  cancelSchedule() {
    this.step = "idle";
    sessionStorage.removeItem(this.keys.scheduled);
    this.card.showMessage("", { title: this.texts.schedule_cancelled, detail: "" });
    this.updateButton();
  }

  // The server's clock has reached the opening. Pages that wait take turns within a time that the server gives, since all
  // at once would only queue there. A press of the button is not delayed.
  onOpening() {
    if (this.step === "scheduled" && this.turn === null) {
      this.turn = setTimeout(() => { if (this.step === "scheduled") this.reserve(); }, Math.random() * this.sale.openingSpreadMs);
    }
    this.updateButton();
  }

  async reserve() {
    this.step = "reserving";
    clearTimeout(this.turn);
    this.retryable = false;
    this.refusal = null;
    this.reservation = null;
    sessionStorage.removeItem(this.keys.scheduled);
    this.card.clearMessage();
    this.updateButton();
    try {
      const answer = await this.reserveWithRetries();
      if (answer) this.showAnswer(answer);
    } catch (error) {
      this.step = "idle";
      if (error instanceof PassRefused) this.showPassRefusal(error.answer);
      else if (error instanceof TemporaryError) this.showNoAnswer();
      else throw error;
    }
    this.updateButton();
  }

  // Repeats the call with the same pass until there is an answer: that never reserves twice, a new pass could. Null if
  // the reservation of an unanswered call was found, which is then followed.
  async reserveWithRetries() {
    const giveUp = () => this.phase === "ended";
    const onRetry = (attempt, error) => this.showRetry(attempt, error);
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.pass.ensure({ onRetry, giveUp });
        if (this.pass.expired) {
          if (await this.findReservation()) return null;
          continue;
        }
        const units = this.pass.unanswered ? this.pass.units : this.card.units;
        this.pass.markSent(units);
        this.changes += 1;
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
    if (found) this.followReservation(reservation);
    return Boolean(found);
  }

  showAnswer({ ok, code, body }) {
    this.step = "idle";
    if (ok) {
      this.pass.discard();
      if (this.limitIsKnown) this.changeRemaining(-body.units);
      else this.askWhatIsHad();
      this.followReservation(body);
      return;
    }
    if (code === "hold_ended") this.pass.discard();
    this.retryable = ["held_by_others", "too_few_left", "paused", "hold_ended"].includes(code);
    if (code === "sold_out" || code === "held_by_others") this.live = { ...this.live, availability: code };
    if (code === "paused") this.paused = true;
    if (code === "limit_reached") this.setLimit({ remaining: body.remaining, max: body.per_buyer_max });
    const text = this.texts.outcomes[code]
      ?? { title: body?.title ?? this.texts.errors.failed.title, detail: body?.detail ?? "" };
    const detail = code === "limit_reached" ? this.limitDetail : text.detail;
    this.showRefusal(code, { ...text, detail }, code === "limit_reached" || code === "hold_ended" ? [this.ordersLink] : []);
  }

  showRefusal(code, text, links = []) {
    this.refusal = code;
    this.refusedAt = now();
    this.card.showMessage("refused", text, links);
  }

  // Why the limit refused, and how many are still possible.
  get limitDetail() {
    const { remaining, max } = this.limit;
    if (remaining === max) return this.texts.outcomes.limit_reached.detail;
    const text = limitText(this.limit, this.texts.limit);
    return remaining ? text : `${text} ${this.texts.limit.none_left}`;
  }

  // What the buyer has, as asked when there had been so many `changes`; of later ones it may have the units or not.
  setHad(units, changes) {
    if (this.step === "reserving" || changes !== this.changes) {
      if (this.step !== "reserving") this.sale.askMe();
      return;
    }
    this.limitIsKnown = true;
    this.showLimit({ remaining: Math.max(0, this.limit.max - units), max: this.limit.max });
  }

  // An order of this buyer that awaits payment, made in another tab or on another device.
  showOpenHold(hold) {
    if (this.step !== "idle" || this.reservation || this.refusal) return;
    const href = `${this.sale.ordersUrl}${hold.order}/`;
    this.showReserved(hold, "order_ready", [{ href, label: this.texts.reserved.view_order }, this.ordersLink]);
  }

  changeRemaining(units) {
    const { remaining, max } = this.limit;
    this.setLimit({ remaining: Math.min(max, Math.max(0, remaining + units)), max });
  }

  // The buyer's other tabs show the same.
  setLimit(limit) {
    this.showLimit(limit);
    this.sale.tellOtherTabs({ item: this.data.item, limit });
  }

  // The page may leave for the order before it has the answer, so the other tabs ask for themselves.
  askWhatIsHad() {
    this.sale.askMe();
    this.sale.tellOtherTabs({ item: this.data.item });
  }

  // News of another tab of the buyer: the new limit, or none if that tab does not know it either.
  hearLimit(limit) {
    this.changes += 1;
    this.limitIsKnown = Boolean(limit);
    if (limit) this.showLimit(limit);
    else this.sale.askMe();
  }

  showLimit(limit) {
    this.limit = limit;
    this.card.setRemaining(limit);
    this.updateButton();
  }

  showPassRefusal({ status, code }) {
    const { outcomes, errors } = this.texts;
    if (outcomes[code]) this.showRefusal(code, outcomes[code]);
    else if (status === 401 || code === "not_authenticated") {
      this.card.showMessage("refused", errors.signed_out, [{ href: this.sale.signInUrl, label: this.texts.sign_in }]);
    } else this.card.showMessage("refused", errors.failed);
  }

  // The sale ended before an answer came.
  showNoAnswer() {
    if (this.pass.unanswered) this.card.showMessage("refused", this.texts.errors.no_answer, [this.ordersLink]);
    else this.showRefusal("closed", this.texts.outcomes.closed);
  }

  showRetry(attempt, error) {
    const outcome = error.problem && this.texts.outcomes[error.problem.code];
    const { title, detail } = this.texts.errors.connection;
    this.card.showMessage("wait", { title: outcome ? outcome.title : title, detail: fill(detail, { attempt }) });
  }

  get ordersLink() { return { href: this.sale.ordersUrl, label: this.texts.reserved.my_orders }; }

  // Waits for the order of a reservation, then goes to it, unless another item of the page is still reserving. If there
  // are several reservations to pay, it goes to the list: each has a deadline of its own.
  async followReservation(reservation, { again = false } = {}) {
    const hadFocus = this.card.hasFocus;
    this.step = "reserved";
    this.reservation = reservation;
    this.sale.toPay.add(reservation.status_url);
    sessionStorage.setItem(this.keys.reservation, JSON.stringify(reservation));
    if (!again) this.showReserved(reservation, "creating_order", [this.ordersLink]);
    this.updateButton();
    if (hadFocus && !this.mayWantMore) this.card.focusLink();
    const readAt = performance.now() + READING_MS;
    const status = await this.waitForOrder(reservation);
    const [ended, paid] = [ENDED_STATUSES, PAID_STATUSES].map((statuses) => statuses.includes(status?.status));
    if (!status || ended || paid) this.sale.toPay.delete(reservation.status_url);
    if (this.reservation !== reservation) return;
    if (!status || ended) {
      this.showReservationEnded(again);
      return;
    }
    const href = `${this.sale.ordersUrl}${status.order}/`;
    const detail = paid ? "paid" : "order_ready";
    this.showReserved({ ...reservation, ...status }, detail,
      [{ href, label: this.texts.reserved.view_order }, this.ordersLink]);
    if (again) return;
    await sleep(readAt - performance.now());
    if (this.reservation !== reservation || this.step !== "reserved" || this.sale.busy(this)) return;
    location.assign(this.sale.toPay.size > 1 ? this.sale.ordersUrl : href);
  }

  // The reservation's status once it has an order or has ended; null if it is no longer known.
  async waitForOrder(reservation) {
    for (let attempt = 0; ;) {
      try {
        const { ok, body } = await getStatus(reservation.status_url);
        if (!ok) return null;
        if (body.order || ENDED_STATUSES.includes(body.status)) return body;
        attempt = 0;
        await sleep((body.poll_after_ms ?? 1000) * (0.8 + Math.random() * 0.4));
      } catch (error) {
        if (!(error instanceof TemporaryError)) throw error;
        attempt += 1;
        await backoff(attempt, error.retryAfterMs);
      }
    }
  }

  get mayWantMore() { return this.limit.remaining > 0; }

  showReserved(reservation, detail, links) {
    this.card.showMessage("reserved", {
      title: fill(this.texts.reserved.title, { units: reservation.units, product: this.card.name }),
      detail: fill(this.texts.reserved[detail], { time: timeOfDay(reservation.expires_at) }),
    }, links);
  }

  showReservationEnded(quietly) {
    // After a reload the page's figures have the units back already.
    if (!quietly) this.changeRemaining(this.reservation.units);
    this.reservation = null;
    sessionStorage.removeItem(this.keys.reservation);
    this.step = "idle";
    if (quietly) this.card.clearMessage();
    else this.card.showMessage("refused", this.texts.reservation_ended, [this.ordersLink]);
    this.updateButton();
  }

  updateButton() {
    const { phase, step } = this;
    const { button } = this.texts;
    const soldOut = this.live.availability === "sold_out";
    if (step === "reserved") this.card.setButton(button.more, { step, hidden: !this.mayWantMore });
    else if (step === "reserving") this.card.setButton(button.reserving, { step, off: true });
    else if (step === "scheduled") this.card.setButton(phase === "upcoming" ? button.scheduled : button.reserve, { step });
    else if (phase === "ended") this.card.setButton(button.ended, { step, off: true });
    else if (phase === "upcoming") this.card.setButton(button.schedule, { step });
    else if (phase === "paused") this.card.setButton(button.paused, { step, off: true });
    else if (soldOut) this.card.setButton(button.sold_out, { step, off: true });
    else if (!this.limit.remaining) this.card.setButton(button.limit_reached, { step, off: true });
    else this.card.setButton(this.retryable ? button.retry : button.reserve, { step });
  }

  // The item's part of the sale's live answer, which was asked for at `askedMs`.
  updateLive(live, askedMs) {
    this.live = live;
    this.card.setStock(live);
    if (live.phase) this.paused = live.phase === "paused";
    if (this.retryable && live.availability === "sold_out" && this.refusal !== "sold_out") {
      this.showRefusal("sold_out", this.texts.outcomes.sold_out);
    }
    this.withdrawRefusal(live, askedMs);
    this.updateButton();
  }

  // A message about the stock or a pause does not stay after that has changed.
  withdrawRefusal(live, askedMs) {
    if (!this.refusal || live.phase !== "open" || askedMs <= this.refusedAt) return;
    const some = live.availability === "available" || live.availability === "unlimited";
    const enough = live.availability === "unlimited" || live.left >= this.card.units;
    const unitsAreBack = { sold_out: some, held_by_others: some, too_few_left: enough }[this.refusal];
    const over = { units_back: !some, paused: true, closed: true, not_open: true }[this.refusal];
    if (unitsAreBack) this.card.showMessage("", this.texts.units_back);
    else if (over) this.card.clearMessage();
    if (unitsAreBack || over) this.refusal = unitsAreBack ? "units_back" : null;
  }
}
