// The stock of one item as its page shows it, from the live figures and the answers to this buyer's calls.

// The figures beside the button. An answer to this buyer's own call tells more than `live` figures that were asked for
// before it, so "sold out" never stands beside "1 left". `toldMs` is when there was such an answer.
export const stockAfterLive = (stock, live, askedMs) =>
  askedMs <= (stock.toldMs ?? -Infinity) ? stock : { ...live, quantity: offered(stock, live), toldMs: stock.toldMs };

// After the end the unsold units go back to the ordinary stock; they were offered all the same.
const offered = (stock, { phase, quantity }) =>
  (phase === "ended" && quantity !== null ? Math.max(stock.quantity, quantity) : quantity);

export function stockAfterAnswer(stock, { ok, code, units, nowMs }) {
  const told = { ...stock, toldMs: nowMs };
  if (typeof stock.quantity !== "number") return stock;
  if (code === "sold_out") return { ...told, availability: code, left: 0, held: 0, sold: stock.quantity };
  if (code === "held_by_others") return { ...told, availability: code, left: 0, held: Math.max(1, stock.quantity - stock.sold) };
  if (!ok) return stock;
  const left = Math.max(0, stock.left - units);
  return { ...told, left, held: stock.held + stock.left - left, availability: left ? "available" : "held_by_others" };
}
