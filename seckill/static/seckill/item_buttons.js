// The two buttons of an item, as a function of its state (item_state.js) and its phase.

const button = (text, off = false) => ({ text, off, hidden: false });

// Whether the sale does not sell yet, or not just now.
export const isBefore = (phase) => phase === "upcoming" || phase === "paused";
const GONE = ["held_by_others", "sold_out"];
export const inLine = ({ line }) => line === "waiting" || line === "leaving";

// The button: the name of its text, whether it is off, whether it is hidden. This and the events take the `buyerPhase`.
export function buttonOf({ step, availability, limit, retryable, line, room }, phase) {
  if (step === "idle" && inLine({ line }) && (phase === "paused" || GONE.includes(availability))) {
    return { ...button("retry", true), hidden: true };
  }
  if (step === "reserved" && !limit.remaining) return { ...button("more", true), hidden: true };
  if (step === "reserving") return button("reserving", true);
  if (step === "scheduled") return isBefore(phase) ? button("scheduled") : button("reserving", true);
  if (phase === "upcoming") return room ? button("not_called", true) : button("schedule");
  if (phase !== "open") return button(phase, true);
  if (availability === "sold_out") return button("sold_out", true);
  if (step === "reserved") return button("more", availability === "held_by_others");
  if (!limit.remaining) return button("limit_reached", true);
  if (room === "waiting") return button("not_called", true);
  return button(retryable ? "retry" : "reserve");
}

// Beside a reservation once it is paid: until then nothing else stands where its time to pay does.
function mayJoin({ step, message }) {
  if (step !== "reserved") return step === "idle";
  return message?.kind === "reserved" ? message.detail === "paid" : Boolean(message);
}

// The button of the waiting list, for what one cannot reserve now.
export function lineButtonOf(state, phase) {
  const { availability, limit, line } = state;
  if (inLine({ line })) return button("leave", line === "leaving");
  if (line === "joining") return button("joining", true);
  const offered = line && mayJoin(state) && phase === "open" && GONE.includes(availability) && limit.remaining;
  return { ...button("join", !offered), hidden: !offered };
}
