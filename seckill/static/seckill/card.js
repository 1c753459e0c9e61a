// One item's card on the page: all that is written into it. It decides nothing.

import { locale } from "../shop/locale.js";

const number = new Intl.NumberFormat(locale);
export const timeOfDay = (iso) =>
  new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(iso));

export const fill = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

// As `stock_text` in seckill/live/page_texts.py says it.
export function stockText(live, words) {
  const values = {
    left: number.format(live.left ?? 0), quantity: number.format(live.quantity ?? 0), held: number.format(live.held ?? 0),
  };
  const text = fill(words[live.availability], values);
  return live.held && live.quantity !== null ? `${text} · ${fill(words.held, values)}` : text;
}

export class Card {
  constructor(root, words) {
    this.root = root;
    this.words = words;
    this.name = root.dataset.name;
    this.form = root.querySelector("form.buy");
    this.button = root.querySelector("[data-buy]");
    this.region = root.querySelector("[data-outcome]");
  }

  get units() { return Number(this.form.elements.units?.value ?? 1); }
  get valid() { return this.form.reportValidity(); }

  setStock(live) {
    this.root.querySelector("[data-stock-words]").textContent = stockText(live, this.words.stock);
    const part = (units) => (live.quantity ? `${(100 * units) / live.quantity}%` : "100%");
    const known = live.availability !== "unavailable";
    this.root.querySelector(".bar-left").setAttribute("width", known ? part(live.left ?? 0) : "0%");
    this.root.querySelector(".bar-held").setAttribute("width", known ? part((live.left ?? 0) + live.held) : "0%");
    this.root.classList.toggle("sold_out", live.availability === "sold_out");
  }

  // `off` keeps the button reachable by keyboard and readable, unlike the disabled attribute.
  setButton(label, { step, off = false, hidden = false }) {
    this.root.dataset.step = step;
    if (!this.button) return;
    if (this.button.textContent !== label) this.button.textContent = label;
    this.button.setAttribute("aria-disabled", String(off));
    this.form.hidden = hidden;
  }

  // The outcome in words, and links to go on by. The region is live: this is what a screen reader says.
  say(tone, { title, detail }, links = []) {
    const [heading, text] = [document.createElement("strong"), document.createElement("p")];
    heading.textContent = title;
    text.textContent = detail;
    const anchors = links.map(({ href, label }) => {
      const anchor = document.createElement("a");
      [anchor.href, anchor.textContent] = [href, label];
      return anchor;
    });
    const hadFocus = this.region.contains(document.activeElement);
    this.region.className = `outcome ${tone}`;
    this.region.replaceChildren(heading, text, ...anchors);
    if (hadFocus) this.focusLink();
  }

  hush() {
    if (!this.region) return;
    this.region.className = "outcome";
    this.region.replaceChildren();
  }

  // Where a button that goes away had the focus, the keyboard goes on at the first link.
  focusLink() { this.region.querySelector("a")?.focus(); }
  get hasFocus() { return this.form.contains(document.activeElement); }
}
