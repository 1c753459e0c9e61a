// Who is signed in on a public page, which is the same for everybody, and what is theirs.

const root = document.documentElement;
const RETRIES_MAX = 6;
// As that of the other calls of a page (seckill/api.js).
const TIMEOUT_MS = 6000;

const buyerNow = () => document.cookie.match(/(?:^|; )signed_in=([^;]+)/)?.[1] ?? "";

// Tells the buyers of one browser apart; empty if nobody is signed in.
export const buyer = buyerNow();

// Somebody has signed in or out in another tab, or before Back showed this page again.
function reloadForAnotherBuyer() {
  if (!document.hidden && buyerNow() !== buyer) location.reload();
}
if (document.getElementById("page")?.dataset.public !== undefined) {
  window.addEventListener("pageshow", reloadForAnotherBuyer);
  document.addEventListener("visibilitychange", reloadForAnotherBuyer);
}

let underWay = null;

// `{name, language, holds, items}`; null if nobody is signed in any more. Throws if the shop does not answer.
export function askMe(url = "/api/v1/me/") {
  underWay = fetchMe(url).finally(() => { underWay = null; });
  return underWay;
}

// The answer brings the token for forms, which a public page lacks. The call that the page makes anyway will do.
export const askForToken = () => underWay ?? askMe();

async function fetchMe(url) {
  const headers = { Accept: "application/json", "Accept-Language": root.lang };
  const response = await fetch(url, { cache: "no-store", headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.status === 401) return signedOut();
  if (!response.ok) throw new Error(response.status);
  return response.json();
}

// The same, again and again while the shop does not answer.
export async function askMeUntilAnswered(url) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await askMe(url);
    } catch (error) {
      if (attempt >= RETRIES_MAX) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 500 * 2 ** attempt * (0.75 + Math.random() * 0.5)); });
    }
  }
}

function signedOut() {
  root.classList.remove("signed-in");
  return null;
}

// Signing out is a form with a token, which a public page does not have; its cookie has one.
document.querySelector("[data-sign-out]")?.addEventListener("submit", ({ currentTarget }) => {
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
  if (token) currentTarget.elements.csrfmiddlewaretoken.value = token;
});

// How many units are in the cart. The cookie says it for guests, and on ordinary pages for a buyer, whose answer of the
// shop counts for more: the cart may have been changed on another device.
export function showCartUnits(units) {
  const badge = document.querySelector("[data-cart-units]");
  if (!badge) return;
  badge.hidden = !units;
  badge.textContent = units || "";
}

export function cartUnitsOfCookie() {
  const [whose, units] = (document.cookie.match(/(?:^|; )cart_units=([^;]+)/)?.[1] ?? "").split(".");
  return whose === buyer ? Number(units) || 0 : 0;
}

// What the header says. Without an answer it stays as it was.
export function showInHeader(me) {
  if (!me) return;
  showCartUnits(me.cart_units);
  const name = document.querySelector("[data-user-name]");
  if (name) name.textContent = me.name;
  const badge = document.querySelector("[data-open-holds]");
  if (!badge) return;
  badge.hidden = !me.holds.length;
  badge.querySelector("[data-count]").textContent = me.holds.length;
}
