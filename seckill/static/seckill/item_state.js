// What one item of the sale shows one buyer, as a function of what has happened: no page, no calls, no clock of its own.
// item.js reports events to `next` and shows the state that comes out.
//
//   step            idle, scheduled (waits for the start or the end of a pause), reserving (a call is under way), reserved
//   waited          whether a call under way was made by a page that waited
//   units           what was chosen when the page began to wait or to ask
//   paused, availability   as the server said last
//   retryable       whether the same press may succeed later
//   refusal         {code, atMs} of the refusal that the message shows
//   reservation     the answer to the call that reserved
//   earlier         {reservation, message} beside which more is being reserved, or null
//   limit           {remaining, max}: what the buyer can still take. A hint, since only the store decides
//   limitIsKnown    whether the limit has what the buyer had when it last may have changed
//   changes         how often it may have changed: with each call to reserve, and with news of another tab
//   line            null if the item has no waiting list; else none, joining, waiting or leaving
//   room            null, or of a sale with a waiting room: waiting, called
//   message         {tone, kind, …} or null; each new one is a new object

import { buttonOf, inLine, isBefore } from "./item_buttons.js";

// A page that is reloaded so soon after the opening still reserves what it was waiting for.
const JUST_OPENED_MS = 10_000;
const RETRYABLE_CODES = ["held_by_others", "too_few_left", "paused", "hold_ended"];
// `lost` is none of the shop's statuses: a receipt could not bring the reservation back.
const ENDED_STATUSES = ["expired", "cancelled", "rejected", "refund_due", "refunded", "lost"];
const PAID_STATUSES = ["paid", "shipped", "completed"];
const signedOutMessage = () => ({ tone: "refused", kind: "signed_out" });

export const initialState = ({ availability, paused, max, hasLine = false, room = null }) => ({
  step: "idle", units: null, waited: false, paused, availability, retryable: false, refusal: null, reservation: null,
  earlier: null, limit: { remaining: max, max }, limitIsKnown: false, changes: 0,
  line: hasLine ? "none" : null, room, message: null,
});

export const hasEnded = (status) => ENDED_STATUSES.includes(status);
export const isPaid = (status) => PAID_STATUSES.includes(status);
export const isSignedOut = ({ status, code }) => status === 401 || code === "not_authenticated";

// From the sale's times on the server's clock; a pause is only known from the server's answers.
export function phaseOf({ paused }, { nowMs, opensMs, closesMs }) {
  if (nowMs >= closesMs) return "ended";
  if (paused) return "paused";
  return nowMs < opensMs ? "upcoming" : "open";
}

// The phase for what the buyer can do: a pause before the opening may end before it, and leaves a page that waits waiting.
export const buyerPhase = (state, times) => (times.nowMs < times.opensMs ? "upcoming" : phaseOf(state, times));

// Whether a refused pass cannot be had by the opening. The shop says from when it can; another proof may be accepted.
export const isRefusedForGood = ({ code, body }, { nowMs, opensMs }) =>
  code !== "proof_refused" && nowMs + (body.retry_after ?? Infinity) * 1000 >= opensMs;

// Whether an answer about what the buyer has, asked for after so many `changes`, is still true. Of later changes it may
// have the units or not.
export const isCurrent = (state, changes) => state.step !== "reserving" && state.changes === changes;

const EVENTS = {
  // The button was pressed, with so many units chosen.
  pressed(state, { phase, units }) {
    if (buttonOf(state, phase).off) return state;
    if (state.step === "scheduled") return cancelled(state);
    return phase === "upcoming" ? scheduled(state, units) : reserving(state, units);
  },

  units_chosen: (state, { units }) => (state.step === "scheduled" ? scheduled(state, units) : state),

  // The buyer's place in the waiting room was called, or waits to be.
  room_changed: (state, { room }) => ({ ...state, room }),

  // The turn of this page has come, after the opening or a pause.
  turn_came: (state) => (state.step === "scheduled" ? reserving(state, state.units, true) : state),

  // The page was loaded: a reservation is followed further, a call without an answer is repeated, and a page that was
  // waiting for the start goes on with the units that were chosen.
  loaded(state, { phase, sinceOpeningMs, reservation, unanswered, waitingFor }) {
    if (reservation) return reserved(state, reservation, state.message);
    if (unanswered) return reserving(state, null);
    if (!waitingFor || phase === "ended" || (phase === "open" && sinceOpeningMs >= JUST_OPENED_MS)) return state;
    const units = Math.min(waitingFor, Math.max(1, state.limit.remaining));
    return isBefore(phase) ? scheduled(state, units) : reserving(state, units, true);
  },

  // A call to reserve is sent. From now on the buyer may have more.
  sent: (state) => ({ ...state, changes: state.changes + 1 }),

  // There was no answer, and the call will be repeated. The server may have said why.
  retrying: (state, { attempt, code }) => ({ ...state, message: { tone: "wait", kind: "retrying", attempt, code } }),

  answered(state, { ok, code, body, nowMs }) {
    if (ok) return reserved(state.limitIsKnown ? withUnits(state, -body.units) : state, body);
    if (code === "paused" && state.waited) return scheduled({ ...state, paused: true }, state.units);
    return refused({
      ...state,
      step: "idle",
      retryable: RETRYABLE_CODES.includes(code),
      availability: code === "sold_out" || code === "held_by_others" ? code : state.availability,
      paused: state.paused || code === "paused",
      limit: code === "limit_reached" ? { remaining: body.remaining, max: body.per_buyer_max } : state.limit,
    }, { code, nowMs, title: body?.title, detail: body?.detail });
  },

  // The reservation of a call whose answer was lost.
  // Or that of a place in the waiting list, which has got its units.
  found: (state, { reservation }) => reserved({ ...state, line: state.line && "none" }, reservation),

  // While the page waits for the start, or when it reserves. `hasText`: whether it has a text of its own for the code.
  pass_refused(state, { status, code, hasText, nowMs }) {
    const idle = { ...state, step: "idle" };
    if (hasText) return refused(idle, { code, nowMs });
    return { ...idle, message: isSignedOut({ status, code }) ? signedOutMessage() : { tone: "refused", kind: "failed" } };
  },

  // The sale ended before an answer came. A call that was sent may have reserved.
  gave_up(state, { unanswered, nowMs }) {
    const idle = { ...state, step: "idle" };
    return unanswered ? { ...idle, message: { tone: "refused", kind: "no_answer" } } : refused(idle, { code: "closed", nowMs });
  },

  failed: (state) => ({ ...state, step: "idle" }),

  // The reservation has an order or has ended; `status` is null if it is not known any more, and `signed_out` if only a
  // signed-in buyer can hear it. `quietly`: after a reload, when the page's figures have the units back already.
  followed(state, { reservation, status, quietly, nowMs }) {
    if (state.reservation?.status_url !== reservation.status_url) return state;
    const told = { ...reservation, refusal: state.message?.refusal };
    if (status?.status === "signed_out") return { ...state, message: reservedMessage("signed_out", told) };
    if (status && !hasEnded(status.status)) {
      const detail = isPaid(status.status) ? "paid" : "order_ready";
      return { ...state, message: reservedMessage(detail, { ...told, ...status }) };
    }
    const idle = { ...state, step: "idle", reservation: null, refusal: null };
    if (status?.status === "lost") return refused(withUnits(idle, reservation.units), { ...status, nowMs });
    if (quietly) return { ...idle, message: null };
    return { ...withUnits(idle, reservation.units), message: { tone: "refused", kind: "reservation_ended" } };
  },

  // The waiting list. The message says the place, and why a place was refused or has ended.
  join_pressed: (state) => ({ ...state, line: "joining", refusal: null, message: null }),
  joined: (state, { place }) => ({ ...state, line: "waiting", retryable: false, refusal: null, message: waitingMessage(place) }),
  join_refused: (state, { code, body, nowMs }) =>
    refused({ ...state, line: "none" }, { code, nowMs, title: body?.title, detail: body?.detail }),
  place_seen(state, { place }) {
    const after = { ...state, line: state.line === "leaving" ? "leaving" : "waiting" };
    const isSaid = state.message?.kind === "waiting";
    if (state.step !== "idle" && !isSaid) return inLine(state) ? state : after;
    const isKnown = inLine(state) && isSaid && state.message.place === place.place;
    return isKnown ? state : { ...after, retryable: false, refusal: null, message: waitingMessage(place) };
  },

  leave_pressed: (state) => ({ ...state, line: "leaving" }),
  place_kept: (state) => (state.line === "leaving" ? { ...state, line: "waiting" } : state),
  left_line: (state) => ({ ...state, line: "none", message: { tone: "", kind: "left_line" } }),
  // The buyer is signed out, and so does not hear of the place.
  place_hidden(state) {
    if (state.step !== "idle") return state;
    return { ...state, line: state.line === "leaving" ? "leaving" : "waiting", message: signedOutMessage() };
  },
  place_lost: (state) => ({ ...state, line: "none", message: { tone: "refused", kind: "place_lost" } }),
  line_ended: (state, { place }) => ({ ...state, line: "none", message: { tone: "refused", kind: "line_ended", note: place.note } }),

  // What the buyer has, asked for after so many `changes`.
  had(state, { units, changes }) {
    if (!isCurrent(state, changes)) return state;
    const { max } = state.limit;
    return { ...state, limitIsKnown: true, limit: { remaining: Math.max(0, max - units), max } };
  },

  // An order of this buyer awaits payment, made in another tab or on another device.
  // Where the limit is reached, it is what to pay or to cancel first.
  hold_seen(state, { hold }) {
    if (state.step !== "idle") return state;
    if (!state.refusal) return { ...state, message: reservedMessage("order_ready", hold) };
    if (state.refusal.code !== "limit_reached" || !state.message) return state;
    return { ...state, message: { ...state.message, order: hold.order } };
  },

  // News of another tab of the buyer: the new limit, or none if that tab does not know it either.
  heard: (state, { limit }) => ({
    ...state, changes: state.changes + 1, limitIsKnown: Boolean(limit), limit: limit ?? state.limit,
  }),

  // The item's part of the sale's live answer, which was asked for at `askedMs`. `units`: what is chosen on the page.
  live(state, { live, askedMs, nowMs, units }) {
    const paused = live.phase ? live.phase === "paused" : state.paused;
    const limit = limitAfterLive(state, live, askedMs);
    const after = { ...state, availability: live.availability, paused, limit };
    if (state.step === "scheduled" && live.phase === "ended") return refused({ ...after, step: "idle" }, { code: "closed", nowMs });
    const isNews = state.retryable && live.availability === "sold_out" && state.refusal?.code !== "sold_out";
    const told = isNews ? refused(after, { code: "sold_out", nowMs }) : after;
    return withoutOldRefusal(told, { live, askedMs, units, isNewLimit: limit !== state.limit });
  },
};

export const next = (state, event) => withEarlier(EVENTS[event.type](state, event));

// Where more was refused, the reservation of before is back, with the reason beside it.
function withEarlier(state) {
  if (state.step !== "idle" || !state.earlier) return state;
  const { reservation, message } = state.earlier;
  // A new object: it is followed anew.
  const back = reserved(state, { ...reservation }, { ...message, refusal: state.message });
  return { ...back, retryable: false };
}

const scheduled = (state, units) => ({
  ...state, step: "scheduled", units, refusal: null, message: { tone: "scheduled", kind: "scheduled", units },
});

const cancelled = (state) => ({ ...state, step: "idle", units: null, message: { tone: "", kind: "schedule_cancelled" } });

const reserving = (state, units, waited = false) => ({
  ...state, step: "reserving", units, waited, retryable: false, refusal: null, reservation: null, message: null,
  earlier: state.step === "reserved" ? earlierOf(state) : null,
});

const earlierOf = ({ reservation, message }) => ({
  reservation, message: message?.kind === "reserved" ? message : reservedMessage("creating_order", reservation),
});

const reserved = (state, reservation, message = reservedMessage("creating_order", reservation)) => ({
  ...state, step: "reserved", reservation, message, earlier: null,
});

const waitingMessage = ({ place, units, note }) => ({ tone: "wait", kind: "waiting", place, units, note });

// `refusal`: the message of why no more was reserved.
const reservedMessage = (detail, { units, expires_at, order, refusal }) => ({
  tone: "reserved", kind: "reserved", detail, units, expires_at, order, refusal,
});

const refused = (state, { code, nowMs, ...problem }) => ({
  ...state, refusal: { code, atMs: nowMs }, message: { tone: "refused", kind: "refused", code, ...problem },
});

// Staff may change the limit. A refusal has said a newer one than an answer that was asked for before it.
function limitAfterLive({ limit, refusal }, { per_buyer_max: max }, askedMs) {
  if (!max || max === limit.max || askedMs <= refusal?.atMs) return limit;
  return { remaining: Math.max(0, limit.remaining + max - limit.max), max };
}

function withUnits(state, units) {
  const { remaining, max } = state.limit;
  return { ...state, limit: { remaining: Math.min(max, Math.max(0, remaining + units)), max } };
}

// A message about the stock, a pause or the limit does not stay after that has changed.
function withoutOldRefusal(state, { live, askedMs, units, isNewLimit }) {
  if (!state.refusal || askedMs <= state.refusal.atMs) return state;
  const { code } = state.refusal;
  const said = (message) => (state.message?.kind === "reserved" ? { ...state.message, refusal: message } : message);
  if (live.phase !== "open" && !(code === "paused" && live.phase === "upcoming")) return state;
  const some = live.availability === "available" || live.availability === "unlimited";
  const enough = live.availability === "unlimited" || live.left >= units;
  if ({ sold_out: some, held_by_others: some, too_few_left: enough }[code]) {
    return { ...state, refusal: { ...state.refusal, code: "units_back" }, message: said({ tone: "", kind: "units_back" }) };
  }
  const over = { units_back: !some, paused: true, closed: true, not_open: true, limit_reached: isNewLimit }[code];
  return over ? { ...state, refusal: null, message: said(null) } : state;
}
