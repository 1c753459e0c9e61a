// The flash sales on the page of a product: what is left of the next one, and another look when it opens, pauses or ends.

import { TemporaryError, getLive, sleep } from "./api.js";
import { stockText } from "./card.js";
import { sleepWhileVisible, visible } from "./visible.js";

// A page is kept by two caches, for a second by each.
const RELOAD_MS_MIN = 2100;
const RELOAD_MS_SPREAD = 2500;
const ASK_AGAIN_MS = 5000;

const section = () => document.getElementById("product-sales");

// Whether the page says something else than what is so now, in more than its figures.
function show(live) {
  const texts = JSON.parse(document.getElementById("stock-texts").textContent);
  let differs = false;
  for (const part of live.items) {
    const offer = section().querySelector(`[data-item="${part.id}"]`);
    if (!offer || !part.phase) continue;
    const text = offer.querySelector("[data-stock-text]");
    if (text) text.textContent = stockText(part, texts);
    differs ||= part.phase !== offer.dataset.phase || part.availability !== offer.dataset.availability;
  }
  return differs;
}

async function readAgain() {
  await sleep(RELOAD_MS_MIN + Math.random() * RELOAD_MS_SPREAD);
  // The answer can also break within its body.
  const text = await fetch(location.pathname).then((answer) => answer.ok && answer.text()).catch(() => "");
  if (!text) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  const fresh = page.getElementById("product-sales");
  const focused = section().contains(document.activeElement) && document.activeElement.id;
  if (fresh) section().replaceWith(document.adoptNode(fresh));
  else section().remove();
  // A buyer may have waited for the opening with the keyboard on the link to the sale.
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function follow() {
  while (section()) {
    await visible();
    let wait = ASK_AGAIN_MS;
    try {
      const { ok, body } = await getLive(section().dataset.liveUrl);
      if (ok && show(body)) await readAgain();
      wait = body?.poll_after_ms ?? wait;
    } catch (error) {
      if (!(error instanceof TemporaryError)) throw error;
      wait = Math.max(error.retryAfterMs, ASK_AGAIN_MS);
    }
    await sleepWhileVisible(wait * (1 + Math.random() * 0.4));
  }
}

follow();
