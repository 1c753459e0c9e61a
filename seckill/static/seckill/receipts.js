// The receipts of one item's reservations: kept, also when the tab is closed, until the reservations have orders.

import { isSampled, now } from "../shop/server_clock.js";
import { TemporaryError, backoff, bringReceipt, getStatus, sleep } from "./api.js";
import { hasEnded, isSignedOut } from "./item_state.js";
import { browserMemory } from "./memory.js";

// After this time nobody looks for a lost reservation any more.
const KEPT_MS = 86_400_000;
// After these refusals no later try can succeed, or none is needed.
const SPENT = ["receipt_invalid", "receipt_of_another_buyer", "limit_reached"];
// None of the shop's statuses: the reservation is as it was.
const SIGNED_OUT = { status: "signed_out" };

export class Receipts {
  constructor(key) { this.prefix = `receipt:${key}:`; }

  keep(reservation) {
    if (reservation.receipt) browserMemory.set(this.prefix + reservation.id, JSON.stringify(reservation));
  }

  forget({ id }) { browserMemory.remove(this.prefix + id); }

  // The reservations with their receipts; old ones are removed, once it is known how late it is.
  all() {
    const names = browserMemory.names.filter((name) => name.startsWith(this.prefix));
    const kept = names.map((name) => JSON.parse(browserMemory.get(name)));
    const isOld = ({ expires_at }) => isSampled() && Date.parse(expires_at) + KEPT_MS < now();
    for (const old of kept.filter(isOld)) this.forget(old);
    return kept.filter((reservation) => !isOld(reservation));
  }

  // The reservation's status once it has an order or has ended; `signed_out` if the buyer must sign in to hear it; null
  // if it is no longer known.
  async waitForOrder(reservation) {
    for (let attempt = 0; ;) {
      try {
        const answer = await getStatus(reservation.status_url);
        if (isSignedOut(answer)) return SIGNED_OUT;
        const body = answer.ok ? answer.body : await this.bringBack(reservation);
        if (!body || body === SIGNED_OUT) return body;
        if (body.order || hasEnded(body.status)) {
          if (body.status !== "lost") this.forget(reservation);
          return body;
        }
        attempt = 0;
        await sleep((body.poll_after_ms ?? 1000) * (0.8 + Math.random() * 0.4));
      } catch (error) {
        if (!(error instanceof TemporaryError)) throw error;
        attempt += 1;
        await backoff(attempt, error.retryAfterMs);
      }
    }
  }

  // The status of a reservation that the shop had lost and has now again, by its receipt; null without one. One that
  // cannot be brought back is `lost`, with the reason, and is tried again when the page is opened again.
  async bringBack({ id, receipt }) {
    if (!receipt) return null;
    const answer = await bringReceipt(receipt);
    const { ok, code, body } = answer;
    if (ok) return body;
    if (isSignedOut(answer)) return SIGNED_OUT;
    if (SPENT.includes(code)) this.forget({ id });
    return { status: "lost", code, title: body.title, detail: body.detail };
  }
}
