// The page of a sale in the admin: its countdown, and the bars of its items. live-figures.js renews the figures.

import { start } from "../shop/countdown.js";

const drawBar = (bar, { sold_percent: sold, held_percent: held }) => {
  const [soldPart, heldPart] = bar.querySelectorAll("rect");
  soldPart.setAttribute("width", sold ?? 0);
  heldPart.setAttribute("x", sold ?? 0);
  heldPart.setAttribute("width", held ?? 0);
};

start();
document.addEventListener("figures", ({ detail: figures }) => {
  for (const bar of document.querySelectorAll("[data-units-bar]")) {
    if (figures[bar.dataset.item]) drawBar(bar, figures[bar.dataset.item]);
  }
});
