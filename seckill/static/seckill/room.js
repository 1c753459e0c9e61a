// The waiting room of a sale: takes a place, asks for it, and tells the items of the page when it is called.

import { locale } from "../shop/locale.js";
import { atServerTime, now } from "../shop/server_clock.js";
import { TemporaryError, askPlace, joinRoom, retried, sleep } from "./api.js";
import { fill } from "./card.js";
import { browserMemory } from "./memory.js";
import { PassRefused } from "./passes.js";
import { proven } from "./proof.js";

// A hidden page asks less often, and at once when it is shown again.
const HIDDEN_MS = 20_000;
const MINUTE_S = 60;

const number = new Intl.NumberFormat(locale);

// Whole minutes from two minutes on: an estimate must not look like a promise.
function duration(seconds) {
  const minutes = seconds >= 2 * MINUTE_S;
  const style = { style: "unit", unit: minutes ? "minute" : "second", unitDisplay: "long" };
  const rounded = minutes ? Math.round(seconds / MINUTE_S) : Math.max(10, Math.ceil(seconds / 10) * 10);
  return new Intl.NumberFormat(locale, style).format(rounded);
}

function waitText({ wait_seconds: wait }, texts) {
  if (!wait) return texts.stands;
  const from = duration(wait.from);
  if (wait.to === null) return fill(texts.at_least, { from });
  const to = duration(wait.to);
  return fill(from === to ? texts.about : texts.between, { from, to });
}

// The lines below the headline. `room_lines` in seckill/waiting_room/room_page.py writes the same.
export function roomLines(answer, texts) {
  const { state, place, ahead, units_left: left } = answer;
  if (state !== "waiting") return [texts[state].detail];
  const lines = [fill(ahead ? texts.place : texts.next, { place: number.format(place), ahead: number.format(ahead) })];
  lines.push(waitText(answer, texts));
  if (left !== null && ahead >= left) lines.push(fill(texts.few, { left: number.format(left) }));
  return lines;
}

// The first pass lets the buyer in. Whether there is one now.
async function entered(pass) {
  try {
    await pass.ensure({ giveUp: () => true });
    return true;
  } catch (error) {
    if (!(error instanceof PassRefused || error instanceof TemporaryError)) throw error;
    return false;
  }
}

export class Room {
  constructor(root, sale) {
    this.root = root;
    this.sale = sale;
    this.url = root.dataset.queueUrl;
    this.key = `place:${sale.buyer}:${this.url}`;
    this.headline = root.querySelector("[data-room-headline]");
    this.lines = root.querySelector("[data-room-lines]");
    this.again = root.querySelector("[data-room-again]");
    this.state = "";
    this.again.addEventListener("click", () => { this.headline.focus(); this.again.hidden = true; this.run(); });
  }

  get texts() { return this.sale.texts.room; }

  async run() {
    const opensMs = this.sale.opensMs - this.sale.passLeadMs;
    if (opensMs > now()) this.write(this.root.dataset.early, [this.root.dataset.opens]);
    await new Promise((resolve) => { atServerTime(opensMs, resolve); });
    let answer = await this.join();
    while (answer) {
      this.show(answer);
      if (answer.state === "closed" || answer.state === "lapsed") return;
      if (answer.state === "called" && await entered(this.sale.items[0].pass)) return;
      await this.pause(answer.poll_after_ms);
      answer = await this.ask();
    }
  }

  // Null if there is no place to be had.
  async join() {
    const send = (proof) => joinRoom(this.url, browserMemory.get(this.key) ?? "", proof);
    const { ok, code, body } = await this.answerTo(() => proven(send, () => this.write(this.texts.computes, [])));
    if (ok) {
      browserMemory.set(this.key, body.place_token);
      return body;
    }
    if (code !== "too_early") {
      this.write(body.title, [body.detail]);
      return null;
    }
    // By the visitor's own clock, which was fast: the answer has said how late it is.
    await sleep(1000 * (1 + Math.random()));
    await this.run();
    return null;
  }

  // A place that the shop does not know any more is brought back by joining with its token.
  async ask() {
    const { ok, body } = await this.answerTo(() => askPlace(this.url, browserMemory.get(this.key)));
    return ok ? body : this.join();
  }

  answerTo(call) {
    const onRetry = () => {
      const place = browserMemory.get(this.key);
      this.write(this.headline.textContent, [place ? this.texts.connection : this.texts.asks]);
    };
    return retried(call, { onRetry });
  }

  async pause(ms) {
    const wait = new AbortController();
    const shown = new Promise((resolve) => {
      document.addEventListener("visibilitychange", () => { if (!document.hidden) resolve(); }, { signal: wait.signal });
    });
    await Promise.race([sleep(document.hidden ? Math.max(ms, HIDDEN_MS) : ms), shown]);
    wait.abort();
  }

  show(answer) {
    const { state } = answer;
    this.write(this.texts[state].title, roomLines(answer, this.texts));
    this.again.hidden = state !== "lapsed";
    this.root.classList.toggle("success", state === "called");
    const room = state === "called" ? "called" : "waiting";
    for (const item of this.sale.items) if (item.state.room !== room) item.dispatch({ type: "room_changed", room });
    if (state === "called" && this.state && this.state !== "called") document.title = `● ${this.texts.called.title}`;
    this.state = state;
  }

  // The end of the sale was moved after it was over.
  goOn() {
    if (this.state !== "closed") return;
    this.state = "";
    this.run();
  }

  // The live figures say it sooner than the next answer about the place.
  soldOut() { if (this.state === "waiting") this.show({ state: "sold_out" }); }

  // The headline is a live region, so it is written where it changes; the figures below are not read out each time.
  write(headline, lines) {
    if (this.headline.textContent !== headline) this.headline.textContent = headline;
    this.lines.replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })));
  }
}
