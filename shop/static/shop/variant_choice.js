// The page of a product: price and stock are those of the chosen variant. Without scripts each choice says its own price.

import "./page.js";

const form = document.querySelector("[data-add-to-cart]");
const choices = [...(form?.querySelectorAll("input[name=sku][type=radio]") ?? [])];

// A browser that comes back to the page, or loads it again, may have kept another choice than the page began with.
function show() {
  const chosen = choices.find((choice) => choice.checked);
  if (!chosen) return;
  const { price, stock, availability } = chosen.dataset;
  document.querySelector("[data-chosen-price]").textContent = price;
  const text = form.querySelector("[data-chosen-stock]");
  text.textContent = stock;
  text.className = `product-stock ${availability}`;
  const button = form.querySelector("[data-add]");
  if (button) button.disabled = availability === "sold_out";
  showPicture(chosen.dataset.picture);
}

// The gallery goes to the picture of the option, if there is one.
function showPicture(id) {
  const picture = id && document.getElementById(id);
  if (picture) picture.parentElement.scrollTo({ left: picture.offsetLeft - picture.parentElement.offsetLeft });
}

// What is sold out can be looked at too: its price, and that there is none.
for (const choice of choices) {
  choice.disabled = false;
  choice.addEventListener("change", show);
}
if (choices.length) {
  show();
  window.addEventListener("pageshow", show);
}
