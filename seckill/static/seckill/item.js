// One item of the sale and its buyer: waiting, ready for the start, reserving, reserved.

import { at, now } from "../shop/server_clock.js";
import { Trouble, backoff, getLive, getStatus, pause, reserve } from "./api.js";
import { Card, fill, timeOfDay } from "./card.js";
import { Passes, Refused } from "./passes.js";

// The crowd's passes are fetched over this much time, so that the server meets them one by one.
const PASS_SPREAD_MS = 60_000;
const PASS_SPREAD_LATE_MS = 4_000;
// The page's clock may run ahead of the server's by this much; "not open yet" is then no answer, only too soon.
const EARLY_MS = 3_000;
// A yes is read before the page goes on to the order.
const READING_MS = 1_800;
const LIVE_TROUBLE_MAX = 6;
const ENDINGS = ["expired", "cancelled", "rejected", "refunded"];

export class Item {
  constructor(root, sale) {
    this.sale = sale;
    this.words = sale.words;
    this.card = new Card(root, sale.words);
    this.data = root.dataset;
    this.live = { availability: root.dataset.availability };
    this.paused = root.dataset.phase === "paused";
    this.step = "idle";
    this.label = null;
    this.yes = null;
    if (this.card.form) this.prepare();
    this.watch();
  }

  prepare() {
    const key = `${this.sale.buyer}:${this.data.item}`;
    this.keys = { armed: `armed:${key}`, yes: `yes:${key}` };
    this.passes = new Passes({ url: this.data.passesUrl, key: `pass:${key}` });
    this.card.form.addEventListener("submit", (event) => { event.preventDefault(); this.press(); });
    this.card.form.addEventListener("change", () => { if (this.step === "armed") this.sayArmed(); });
    if (this.phase === "upcoming") this.schedulePass();
    this.resume();
    this.show();
  }

  // By the window on the server's clock, and by the pause of which only the server knows.
  get phase() {
    if (now() >= this.sale.closesMs) return "ended";
    if (this.paused) return "paused";
    return now() < this.sale.opensMs ? "upcoming" : "open";
  }

  get busy() { return this.step === "armed" || this.step === "working"; }

  schedulePass() {
    const earliest = this.sale.opensMs - this.sale.passLeadMs;
    const spread = earliest > now() ? PASS_SPREAD_MS : Math.min(PASS_SPREAD_LATE_MS, (this.sale.opensMs - now()) / 4);
    at(Math.max(earliest, now()) + Math.random() * spread, () => {
      // Whoever is refused or cut off now hears of it when pressing; nothing is lost yet.
      this.passes.ready({ giveUp: () => this.phase !== "upcoming" }).catch(() => {});
    });
  }

  // After a reload: what was promised goes on, what was asked without an answer is asked again.
  resume() {
    const yes = JSON.parse(sessionStorage.getItem(this.keys.yes) ?? "null");
    if (yes) this.follow(yes, { again: true });
    else if (this.passes.tried) this.reserve();
    else if (this.phase !== "upcoming") sessionStorage.removeItem(this.keys.armed);
    else if (sessionStorage.getItem(this.keys.armed)) this.arm();
  }

  press() {
    if (this.step === "working" || this.card.button.getAttribute("aria-disabled") === "true" || !this.card.valid) return;
    if (this.step === "armed") this.disarm();
    else if (this.phase === "upcoming") this.arm();
    else this.reserve();
  }

  arm() {
    this.step = "armed";
    sessionStorage.setItem(this.keys.armed, "1");
    this.sale.keepAwake();
    this.sayArmed();
    this.show();
  }

  sayArmed() {
    const detail = fill(this.words.said.armed, { units: this.card.units, product: this.card.name });
    this.card.say("armed", { title: this.words.said.ready, detail });
  }

  disarm() {
    this.step = "idle";
    sessionStorage.removeItem(this.keys.armed);
    this.card.say("", { title: this.words.said.disarmed, detail: "" });
    this.show();
  }

  // The server's clock has reached the opening.
  opened() {
    if (this.step === "armed") this.reserve();
    else this.show();
  }

  async reserve() {
    this.step = "working";
    this.label = null;
    this.yes = null;
    sessionStorage.removeItem(this.keys.armed);
    this.card.hush();
    this.show();
    try {
      const answer = await this.ask();
      if (answer) this.hear(answer);
    } catch (error) {
      this.step = "idle";
      if (error instanceof Refused) this.hearNoPass(error.answer);
      else if (error instanceof Trouble) this.hearNothing();
      else throw error;
    }
    this.show();
  }

  // Asks with one pass until there is an answer: repeating it is safe, a new pass would not be. Null: see `follow`.
  async ask() {
    const giveUp = () => this.phase === "ended";
    const onTrouble = (attempt, error) => this.sayTrouble(attempt, error);
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.passes.ready({ onTrouble, giveUp });
        if (this.passes.expired) {
          if (await this.foundAfterAll()) return null;
          continue;
        }
        const units = this.passes.tried ? this.passes.units : this.card.units;
        this.passes.markTried(units);
        const answer = await reserve(this.data.reserveUrl, this.passes.text, units);
        if (answer.code === "pass_expired") {
          if (await this.foundAfterAll()) return null;
          continue;
        }
        this.passes.markAnswered();
        if (answer.code === "pass_invalid" && attempt === 0) this.passes.drop();
        else if (answer.code !== "not_open" || this.sale.opensMs - now() > EARLY_MS) return answer;
        else await pause(Math.max(0, this.sale.opensMs - now()) + 20 + 40 * attempt);
      } catch (error) {
        if (!(error instanceof Trouble) || giveUp()) throw error;
        onTrouble(attempt + 1, error);
        await backoff(attempt, error.retryAfterMs);
      }
    }
  }

  // The pass ran out while its answer was awaited: only a reservation that is certainly not there allows a new pass.
  async foundAfterAll() {
    const status = this.passes.tried ? await this.passes.outcome() : null;
    const yes = { status_url: this.passes.statusUrl, ...status };
    this.passes.drop();
    if (status) this.follow(yes);
    return Boolean(status);
  }

  hear({ ok, code, body }) {
    this.step = "idle";
    if (ok) {
      this.passes.drop();
      this.follow(body);
      return;
    }
    if (code === "hold_ended") this.passes.drop();
    this.label = ["held_by_others", "too_few_left", "paused", "hold_ended"].includes(code) ? "again" : null;
    if (code === "sold_out" || code === "held_by_others") this.live = { ...this.live, availability: code };
    if (code === "paused") this.paused = true;
    const words = this.words.outcomes[code] ?? { title: body?.title ?? this.words.trouble.failed_title, detail: body?.detail ?? "" };
    this.card.say("no", words, code === "limit_reached" || code === "hold_ended" ? [this.ordersLink] : []);
  }

  hearNoPass({ status, code }) {
    if (this.words.outcomes[code]) this.card.say("no", this.words.outcomes[code]);
    else if (status === 401 || code === "not_authenticated") {
      this.card.say("no", this.titled("signed_out"), [{ href: this.sale.signInUrl, label: this.words.trouble.sign_in }]);
    } else this.card.say("no", this.titled("failed"));
  }

  // The sale ended before any answer came.
  hearNothing() {
    if (this.passes.tried) this.card.say("no", this.titled("unknown"), [this.ordersLink]);
    else this.card.say("no", this.words.outcomes.closed);
  }

  sayTrouble(attempt, error) {
    const outcome = error.problem && this.words.outcomes[error.problem.code];
    const title = outcome ? outcome.title : this.words.trouble.title;
    this.card.say("wait", { title, detail: fill(this.words.trouble.detail, { attempt }) });
  }

  titled(name) {
    return { title: this.words.trouble[`${name}_title`], detail: this.words.trouble[`${name}_detail`] };
  }

  get ordersLink() { return { href: this.sale.ordersUrl, label: this.words.yes.all }; }

  // After a yes: the order is written within moments; then the page goes there, unless it is busy with something else.
  async follow(yes, { again = false } = {}) {
    const hadFocus = this.card.hasFocus;
    this.step = "reserved";
    this.yes = yes;
    sessionStorage.setItem(this.keys.yes, JSON.stringify(yes));
    if (!again) this.sayYes(yes, "detail", [this.ordersLink]);
    this.show();
    if (hadFocus && !this.mayWantMore) this.card.focusLink();
    const readAt = performance.now() + READING_MS;
    const status = await this.orderOf(yes);
    if (this.yes !== yes) return;
    if (!status || ENDINGS.includes(status.status)) {
      this.ended(again);
      return;
    }
    const href = `${this.sale.ordersUrl}${status.order}/`;
    const detail = status.status === "paid" ? "paid" : "written";
    this.sayYes({ ...yes, ...status }, detail, [{ href, label: this.words.yes.see }, this.ordersLink]);
    if (again) return;
    await pause(readAt - performance.now());
    if (this.yes === yes && this.step === "reserved" && !this.sale.busy(this)) location.assign(href);
  }

  // The reservation's status as soon as it has an order or has ended; null where it is not known any more.
  async orderOf(yes) {
    for (let attempt = 0; ;) {
      try {
        const { ok, body } = await getStatus(yes.status_url);
        if (!ok) return null;
        if (body.order || ENDINGS.includes(body.status)) return body;
        attempt = 0;
        await pause((body.poll_after_ms ?? 1000) * (0.8 + Math.random() * 0.4));
      } catch (error) {
        if (!(error instanceof Trouble)) throw error;
        attempt += 1;
        await backoff(attempt, error.retryAfterMs);
      }
    }
  }

  get mayWantMore() { return Number(this.data.perBuyerMax) > this.yes.units; }

  sayYes(yes, detail, links) {
    this.card.say("yes", {
      title: fill(this.words.yes.title, { units: yes.units, product: this.card.name }),
      detail: fill(this.words.yes[detail], { time: timeOfDay(yes.expires_at) }),
    }, links);
  }

  ended(quietly) {
    this.yes = null;
    sessionStorage.removeItem(this.keys.yes);
    this.step = "idle";
    if (quietly) this.card.hush();
    else this.card.say("no", this.words.ended, [this.ordersLink]);
    this.show();
  }

  show() {
    const { phase } = this;
    const { button } = this.words;
    const soldOut = this.live.availability === "sold_out";
    if (this.step === "reserved") this.card.setButton(button.more, { step: "reserved", hidden: !this.mayWantMore });
    else if (this.step === "working") this.card.setButton(button.working, { step: "working", off: true });
    else if (this.step === "armed") this.card.setButton(button.armed, { step: "armed" });
    else if (phase === "ended") this.card.setButton(button.ended, { step: "idle", off: true });
    else if (phase === "upcoming") this.card.setButton(button.arm, { step: "idle" });
    else if (phase === "paused") this.card.setButton(button.paused, { step: "idle", off: true });
    else if (soldOut) this.card.setButton(button.sold_out, { step: "idle", off: true });
    else this.card.setButton(button[this.label ?? "reserve"], { step: "idle" });
  }

  // Keeps the stock and the pause fresh while the page is looked at, at the pace that the server asks for.
  async watch() {
    for (let troubles = 0; ;) {
      await this.sale.visible();
      let wait = 0;
      try {
        const { ok, body } = await getLive(this.data.liveUrl);
        if (ok) this.learn(body);
        if (ok && body.phase === "ended" && this.step !== "working") return;
        wait = body?.poll_after_ms ?? 5000;
        troubles = 0;
      } catch (error) {
        if (!(error instanceof Trouble)) throw error;
        troubles = Math.min(troubles + 1, LIVE_TROUBLE_MAX);
        wait = Math.max(error.retryAfterMs, 1000 * 1.7 ** troubles);
      }
      await pause(wait * (1 + Math.random() * 0.4));
    }
  }

  learn(live) {
    this.live = live;
    this.card.setStock(live);
    if (live.phase) this.paused = live.phase === "paused";
    if (live.closes_at) this.sale.closesAt(Date.parse(live.closes_at));
    if (this.label === "again" && live.availability === "sold_out") this.card.say("no", this.words.outcomes.sold_out);
    this.show();
    this.sale.phaseMayHaveChanged();
  }
}
