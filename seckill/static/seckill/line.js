// The waiting list of one item for one buyer: reports to item_state.js what happens, and makes the calls.

import { now } from "../shop/server_clock.js";
import { TemporaryError, getStatus, joinLine, leaveLine, retried } from "./api.js";
import { lineButtonOf } from "./item_buttons.js";
import { isSignedOut } from "./item_state.js";
import { tabMemory } from "./memory.js";
import { PassRefused } from "./passes.js";
import { sleepWhileVisible, visible } from "./visible.js";

const giveUp = (attempt) => attempt >= 8;

export class WaitingLine {
  constructor(item) {
    this.item = item;
    this.key = `line:${item.sale.buyer}:${item.data.item}`;
    item.card.lineButton.addEventListener("click", () => this.onPress());
  }

  // After a reload of the page.
  load() {
    const statusUrl = tabMemory.get(this.key);
    if (statusUrl) this.follow(statusUrl);
  }

  // A place that the buyer has taken on another page.
  found(reservationId) {
    if (!this.following) this.follow(`/api/v1/reservations/${reservationId}/`);
  }

  onPress() {
    const { text, off } = lineButtonOf(this.item.state, this.item.phase);
    if (off) return;
    if (text === "leave") this.leave();
    else if (this.item.card.valid) this.join();
  }

  async join() {
    const { item } = this;
    item.dispatch({ type: "join_pressed" });
    try {
      const answer = await retried(async () => {
        await item.pass.ensure();
        return joinLine(item.data.lineUrl, item.pass.text, Math.min(item.card.units, Number(item.data.lineUnitsMax)));
      }, { giveUp });
      if (!answer.ok) {
        if (answer.code !== "units_left") item.pass.discard();
        item.dispatch({ type: "join_refused", code: answer.code, body: answer.body, nowMs: now() });
        return;
      }
      // Its id is that of the place now.
      item.pass.discard();
      item.dispatch({ type: "joined", place: answer.body });
      this.follow(answer.body.status_url);
    } catch (error) {
      this.onError(error);
    }
  }

  async leave() {
    const { item, following } = this;
    item.dispatch({ type: "leave_pressed" });
    try {
      const answer = await retried(() => leaveLine(following), { giveUp });
      // A place that is not there any more has become a reservation, or has ended: `follow` hears it.
      if (!answer.ok && answer.status !== 404) item.dispatch({ type: "place_kept" });
      else if (answer.ok) this.end({ type: "left_line" });
    } catch (error) {
      item.dispatch({ type: "place_kept" });
      if (!(error instanceof TemporaryError)) throw error;
    }
  }

  onError(error) {
    const { item } = this;
    if (error instanceof PassRefused) {
      const { code, body } = error.answer;
      item.dispatch({ type: "join_refused", code, body, nowMs: now() });
      return;
    }
    item.dispatch({ type: "join_refused", code: null, body: null, nowMs: now() });
    if (!(error instanceof TemporaryError)) throw error;
  }

  // Until the place has become a reservation, or has ended. A hidden page asks for nothing: a mail comes in any case.
  async follow(statusUrl) {
    this.following = statusUrl;
    tabMemory.set(this.key, statusUrl);
    for (let attempt = 0; this.following === statusUrl;) {
      await visible();
      let wait = 0;
      try {
        const answer = await getStatus(statusUrl);
        const { ok, body } = answer;
        if (this.following !== statusUrl) return;
        // The page asks again when it is opened by a buyer who has signed in.
        if (isSignedOut(answer)) {
          this.item.dispatch({ type: "place_hidden" });
          return;
        }
        if (ok && body.status === "waiting") this.item.dispatch({ type: "place_seen", place: body });
        else this.end(ended(ok ? body : null, statusUrl));
        attempt = 0;
        wait = body.poll_after_ms ?? 0;
      } catch (error) {
        if (!(error instanceof TemporaryError)) throw error;
        attempt += 1;
        wait = Math.max(error.retryAfterMs, 1000 * 1.7 ** Math.min(attempt, 6));
      }
      if (this.following === statusUrl) await sleepWhileVisible(wait * (1 + Math.random() * 0.4));
    }
  }

  end(event) {
    this.following = null;
    tabMemory.remove(this.key);
    this.item.dispatch(event);
  }
}

function ended(body, statusUrl) {
  if (body?.status === "line_ended") return { type: "line_ended", place: body };
  return body ? { type: "found", reservation: { ...body, status_url: statusUrl } } : { type: "place_lost" };
}
