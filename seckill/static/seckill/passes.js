// One item's pass: fetched in advance, kept over a reload of the page, and not replaced while a call sent with it has
// no answer.

import { atServerTime, now } from "../shop/server_clock.js";
import { TemporaryError, getPass, getStatus, retried } from "./api.js";
import { isRefusedForGood } from "./item_state.js";
import { tabMemory } from "./memory.js";
import { proven } from "./proof.js";

// A pass that expires within this time is not used for a new call.
const SPARE_MS = 5000;
// Pages that are open when passes can be had fetch theirs within this part of the time to the opening, each at its own
// moment; pages that are opened later within this time.
const SPREAD_SHARE = 0.5;
const SPREAD_LATE_MS = 4_000;

// When a page that has just been opened fetches its passes before the opening.
export function momentInAdvance({ opensMs, passLeadMs }) {
  const earliest = opensMs - passLeadMs;
  const spread = earliest > now() ? passLeadMs * SPREAD_SHARE : Math.min(SPREAD_LATE_MS, (opensMs - now()) / 4);
  return Math.max(earliest, now()) + Math.random() * spread;
}

export class PassRefused extends Error {
  constructor(answer) {
    super(answer.code);
    this.answer = answer;
  }
}

export class ItemPass {
  constructor({ url, key }) {
    this.url = url;
    this.key = key;
    this.stored = JSON.parse(tabMemory.get(key) ?? "null");
    this.fetching = null;
  }

  // Whether a call was sent with this pass and its answer did not arrive: it may have reserved.
  get unanswered() { return Boolean(this.stored?.unanswered); }
  get expired() { return Boolean(this.stored) && Date.parse(this.stored.expiresAt) <= now(); }
  get usable() { return Boolean(this.stored) && Date.parse(this.stored.expiresAt) - SPARE_MS > now(); }
  get text() { return this.stored.text; }
  get units() { return this.stored.units; }
  // The pass's random id is the reservation id.
  get statusUrl() {
    const id = this.stored.text.split(".")[4].replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    return `/api/v1/reservations/${id}/`;
  }

  // A retry asks for the units of the first call, even if the choice on the page has changed since.
  markSent(units) { this.store({ ...this.stored, unanswered: true, units }); }
  markAnswered() { this.store({ ...this.stored, unanswered: false }); }
  discard() { this.store(null); }
  store(stored) {
    this.stored = stored;
    if (stored) tabMemory.set(this.key, JSON.stringify(stored));
    else tabMemory.remove(this.key);
  }

  // Resolves when there is a usable pass. Throws PassRefused; retries temporary errors until `giveUp()` is true.
  async ensure({ onRetry = () => {}, onProof = () => {}, giveUp = () => false } = {}) {
    if (this.usable || this.unanswered) return;
    this.fetching ??= this.fetch({ onRetry, onProof, giveUp }).finally(() => { this.fetching = null; });
    await this.fetching;
  }

  // The same before the opening. `onRefused` hears a refusal that does not change until then.
  async ensureInAdvance({ opensMs, onRefused }) {
    try {
      await this.ensure({ giveUp: () => now() >= opensMs });
    } catch (error) {
      if (error instanceof TemporaryError) return;
      if (!(error instanceof PassRefused)) throw error;
      const { answer } = error;
      const { retry_after: wait } = answer.body;
      if (isRefusedForGood(answer, { nowMs: now(), opensMs })) onRefused(answer);
      else if (wait) atServerTime(now() + (wait + Math.random()) * 1000, () => this.ensureInAdvance({ opensMs, onRefused }));
    }
  }

  async fetch({ onRetry, onProof, giveUp }) {
    const answer = await retried(() => proven((proof) => getPass(this.url, proof), onProof), { onRetry, giveUp });
    if (!answer.ok) throw new PassRefused(answer);
    this.store({ text: answer.body.pass, expiresAt: answer.body.expires_at, unanswered: false });
  }

  // The reservation made with this pass; null if there is none. Throws TemporaryError and PassRefused.
  async reservation() {
    const answer = await getStatus(this.statusUrl);
    if (!answer.ok && answer.status !== 404) throw new PassRefused(answer);
    return answer.ok ? answer.body : null;
  }
}
