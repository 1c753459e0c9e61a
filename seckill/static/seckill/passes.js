// One item's pass: fetched in advance, kept over a reload of the page, replaced only when nothing hangs on it.

import { now } from "../shop/server_clock.js";
import { Trouble, backoff, getPass, getStatus } from "./api.js";

// A pass that ends within this time is not worth starting with.
const SPARE_MS = 5000;

export class Refused extends Error {
  constructor(answer) {
    super(answer.code);
    this.answer = answer;
  }
}

export class Passes {
  constructor({ url, key }) {
    this.url = url;
    this.key = key;
    this.kept = JSON.parse(sessionStorage.getItem(key) ?? "null");
    this.fetching = null;
  }

  // Whether a call went out with this pass and its answer was not heard: it may have reserved.
  get tried() { return Boolean(this.kept?.tried); }
  get expired() { return Boolean(this.kept) && Date.parse(this.kept.expiresAt) <= now(); }
  get usable() { return Boolean(this.kept) && Date.parse(this.kept.expiresAt) - SPARE_MS > now(); }
  get text() { return this.kept.text; }
  get units() { return this.kept.units; }
  // The pass's random id is the reservation id.
  get statusUrl() {
    const id = this.kept.text.split(".")[4].replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    return `/api/v1/reservations/${id}/`;
  }

  // A repetition asks for the units of the first call, whatever the page says by then.
  markTried(units) { this.keep({ ...this.kept, tried: true, units }); }
  markAnswered() { this.keep({ ...this.kept, tried: false }); }
  drop() { this.keep(null); }
  keep(kept) {
    this.kept = kept;
    if (kept) sessionStorage.setItem(this.key, JSON.stringify(kept));
    else sessionStorage.removeItem(this.key);
  }

  // A usable pass is there when this resolves. Raises Refused; repeats trouble until `giveUp()` says so.
  async ready({ onTrouble = () => {}, giveUp = () => false } = {}) {
    if (this.usable || this.tried) return;
    this.fetching ??= this.fetch({ onTrouble, giveUp }).finally(() => { this.fetching = null; });
    await this.fetching;
  }

  async fetch({ onTrouble, giveUp }) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await getPass(this.url);
        if (!answer.ok) throw new Refused(answer);
        this.keep({ text: answer.body.pass, expiresAt: answer.body.expires_at, tried: false });
        return;
      } catch (error) {
        if (!(error instanceof Trouble) || giveUp()) throw error;
        onTrouble(attempt + 1, error);
        await backoff(attempt, error.retryAfterMs);
      }
    }
  }

  // What became of the call whose answer was not heard; null where it reserved nothing. Raises Trouble and Refused.
  async outcome() {
    const answer = await getStatus(this.statusUrl);
    if (!answer.ok && answer.status !== 404) throw new Refused(answer);
    return answer.ok ? answer.body : null;
  }
}
