// When htmx reloads the orders, tells a screen reader which order has a new status, instead of reading out the whole list.

import { announcer } from "../shop/page.js";

const ordersByNumber = () =>
  new Map([...document.querySelectorAll("[data-order]")].map((order) => [order.dataset.order, order]));

let before = ordersByNumber();

document.addEventListener("htmx:afterSettle", () => {
  const after = ordersByNumber();
  const changed = [...after].filter(([number, order]) =>
    before.has(number) && before.get(number).dataset.status !== order.dataset.status);
  if (changed.length) {
    announcer.textContent = changed
      .map(([, order]) => `${order.querySelector(".order-name").textContent}: ${order.dataset.status}`)
      .join(". ");
  }
  before = after;
});
