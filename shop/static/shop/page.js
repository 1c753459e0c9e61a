// On every page: countdowns, and no requests while the page is hidden.

import { start } from "./countdown.js";
import { askMeUntilAnswered, buyer, cartUnitsOfCookie, showCartUnits, showInHeader } from "./me.js";
import { sampleDate } from "./server_clock.js";

// The page may come from two caches, of which each keeps it for a second.
const RELOAD_MS_MIN = 2100;
const RELOAD_MS_SPREAD = 2500;
// How often the wait is doubled, at most, while there is no answer.
const FAILURES_MAX = 4;

export const announcer = document.getElementById("announcer");

start();
// The cart and the checkout know it themselves.
if (document.querySelector("[data-cart-units][hidden]")) showCartUnits(cartUnitsOfCookie());

// A public page is the same for everybody: it knows neither who reads it nor how late it is. The page of a sale asks by
// itself (seckill/sale.js).
if (document.getElementById("page")?.dataset.public !== undefined && !document.getElementById("sale")) {
  const askBuyer = () => { if (buyer) askMeUntilAnswered().then(showInHeader, () => {}); };
  sampleDate();
  askBuyer();
  // Back shows the page as it was left.
  window.addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    showCartUnits(cartUnitsOfCookie());
    askBuyer();
  });
}

// On a phone the menu of the account is wider than the screen: the page that is open stays in sight.
const here = document.querySelector(".account-nav [aria-current]");
if (here) here.closest("ul").scrollLeft = here.offsetLeft - innerWidth / 3;

// A choice that needs no button. By keyboard each arrow key changes it, so there it waits for Enter, or for the button
// beside it, which then appears.
for (const choice of document.querySelectorAll("[data-submits]")) {
  let byKey = false;
  let hasChanged = false;
  choice.addEventListener("pointerdown", () => { byKey = false; });
  choice.addEventListener("keydown", (event) => {
    byKey = event.key !== "Enter";
    if (byKey || !hasChanged) return;
    // Some browsers submit by themselves.
    event.preventDefault();
    choice.form.requestSubmit();
  });
  choice.addEventListener("change", () => {
    hasChanged = true;
    if (byKey) choice.parentElement.querySelector("button").classList.remove("without-scripts");
    else choice.form.requestSubmit();
  });
  // After Back the browser shows what was chosen when the page was left.
  window.addEventListener("pageshow", () => {
    hasChanged = false;
    (choice.querySelector("[selected]") ?? choice.options[0]).selected = true;
  });
}

// A form that has been sent asks for nothing more: after an order the cart is empty, and that answer would lead there
// before the one to the order is here.
let sent = null;
document.addEventListener("submit", ({ target, defaultPrevented }) => { if (!defaultPrevented) sent = target; });
window.addEventListener("pageshow", () => { sent = null; });
const isSent = (part) => sent !== null && part.closest("form") === sent;

// A hidden page sends no requests.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden || isSent(event.detail.elt)) event.preventDefault();
});

// If the visitor was signed out meanwhile, the whole page goes to the sign-in page, not only the part being reloaded.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, pathInfo, requestConfig } = event.detail;
  if (isSent(requestConfig.elt)) {
    event.preventDefault();
    return;
  }
  if (new URL(xhr.responseURL).pathname === new URL(pathInfo.requestPath, location.href).pathname) return;
  event.preventDefault();
  location.assign(xhr.responseURL);
});

// A sale on the home page has just opened or closed. The wait is random, so that not all pages reload at once. A page that
// is hidden then, or gets no answer, still has it to do.
const sales = document.getElementById("sales");
let isStale = false;
let failures = 0;

function readSalesLater() {
  const wait = (RELOAD_MS_MIN + Math.random() * RELOAD_MS_SPREAD) * 2 ** Math.min(failures, FAILURES_MAX);
  setTimeout(() => {
    if (isStale && !document.hidden) document.body.dispatchEvent(new Event("sale-phase-changed"));
  }, wait);
}

sales?.addEventListener("countdown-over", () => {
  isStale = true;
  readSalesLater();
});
sales?.addEventListener("htmx:afterRequest", ({ detail }) => {
  isStale = !detail.successful;
  failures = isStale ? failures + 1 : 0;
  if (isStale) readSalesLater();
});
document.addEventListener("visibilitychange", () => { if (isStale && !document.hidden) readSalesLater(); });

// After htmx has looked at the page: a province that was chosen before then, or that the browser has restored, has not
// asked for its cities.
document.addEventListener("DOMContentLoaded", () => {
  for (const select of document.querySelectorAll("#address-fields select")) {
    const shown = select.querySelector("option[selected]") ?? select.options[0];
    if (shown && !shown.selected) select.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

// An answer about a former choice would take back a newer one, which asks for itself (_address_fields.html). It knows an
// older way of sending too: the newer one is chosen once more.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig: { formData }, shouldSwap } = event.detail;
  for (const { name, value } of document.querySelectorAll("#id_country, select#id_region, select#id_city")) {
    if (formData.has(name) && formData.get(name) !== value) event.preventDefault();
  }
  const chosen = document.querySelector("[name=shipping]:checked");
  if (!chosen || !shouldSwap || event.defaultPrevented || !formData.has("shipping")) return;
  if (formData.get("shipping") === chosen.value) return;
  document.addEventListener("htmx:afterSwap", () => document.getElementById(chosen.id)?.click(), { once: true });
});
