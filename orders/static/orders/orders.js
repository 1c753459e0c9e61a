// Tells a screen reader what changed when htmx brings the orders anew; the whole list is not read again.

const said = document.getElementById("said");

const statuses = () =>
  new Map([...document.querySelectorAll("[data-order]")].map((order) => [order.dataset.order, order]));

let before = statuses();

document.addEventListener("htmx:afterSettle", () => {
  const after = statuses();
  const changed = [...after].filter(([number, order]) =>
    before.has(number) && before.get(number).dataset.status !== order.dataset.status);
  if (changed.length) {
    said.textContent = changed
      .map(([, order]) => `${order.querySelector(".order-name").textContent}: ${order.dataset.status}`)
      .join(". ");
  }
  before = after;
});
