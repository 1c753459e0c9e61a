// Writes one item's card on the page: stock, button, message. What to write is decided in item.js.

import { locale } from "../shop/locale.js";

const number = new Intl.NumberFormat(locale);
export const timeOfDay = (iso) =>
  new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(iso));

export const fill = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

// The same text as `stock_text` in seckill/live/page_texts.py.
export function stockText(live, texts) {
  const values = {
    left: number.format(live.left ?? 0), quantity: number.format(live.quantity ?? 0), held: number.format(live.held ?? 0),
  };
  const text = fill(texts[live.availability], values);
  return live.held && live.quantity !== null ? `${text} · ${fill(texts.held, values)}` : text;
}

// The same text as `limit_text` in seckill/live/page_texts.py.
export function limitText({ remaining, max }, texts) {
  const text = !remaining ? texts.none : remaining === max ? texts.all : texts.some;
  return fill(text, { had: max - remaining, max, remaining });
}

export class Card {
  constructor(root, texts) {
    this.root = root;
    this.texts = texts;
    this.name = root.dataset.name;
    this.form = root.querySelector("form.buy");
    this.button = root.querySelector("[data-buy]");
    this.message = root.querySelector("[data-outcome]");
  }

  get unitsField() { return this.form.elements.units; }
  get units() { return Number(this.unitsField?.value ?? 1); }
  set units(units) { if (this.unitsField) this.unitsField.value = units; }
  get valid() { return this.form.reportValidity(); }

  setStock(live) {
    this.root.querySelector("[data-stock-text]").textContent = stockText(live, this.texts.stock);
    const share = (units) => (live.quantity ? `${(100 * units) / live.quantity}%` : "100%");
    const known = live.availability !== "unavailable";
    this.root.querySelector(".bar-left").setAttribute("width", known ? share(live.left ?? 0) : "0%");
    this.root.querySelector(".bar-held").setAttribute("width", known ? share((live.left ?? 0) + live.held) : "0%");
    this.root.classList.toggle("sold_out", live.availability === "sold_out");
  }

  // How many units the buyer can still take: in words, and in the choice, which keeps what was chosen if it can.
  setRemaining({ remaining, max }) {
    this.root.querySelector("[data-limit]").textContent = limitText({ remaining, max }, this.texts.limit);
    const field = this.unitsField;
    if (!field) return;
    const [most, chosen] = [Math.max(1, remaining), this.units];
    if (field.options) {
      field.replaceChildren(...Array.from({ length: most }, (_, index) => new Option(index + 1)));
    } else field.max = most;
    this.units = Math.min(chosen, most);
  }

  // `off` keeps the button readable and reachable by keyboard, unlike the disabled attribute.
  setButton(label, { step, off = false, hidden = false }) {
    this.root.dataset.step = step;
    if (!this.button) return;
    if (this.button.textContent !== label) this.button.textContent = label;
    this.button.setAttribute("aria-disabled", String(off));
    this.form.hidden = hidden;
  }

  // A message with links below it. The element is a live region, so a screen reader reads it out.
  showMessage(tone, { title, detail }, links = []) {
    const [heading, text] = [document.createElement("strong"), document.createElement("p")];
    heading.textContent = title;
    text.textContent = detail;
    const anchors = links.map(({ href, label }) => {
      const anchor = document.createElement("a");
      [anchor.href, anchor.textContent] = [href, label];
      return anchor;
    });
    const hadFocus = this.message.contains(document.activeElement);
    this.message.className = `outcome ${tone}`;
    this.message.replaceChildren(heading, text, ...anchors);
    if (hadFocus) this.focusLink();
  }

  clearMessage() {
    if (!this.message) return;
    this.message.className = "outcome";
    this.message.replaceChildren();
  }

  // When a button with the focus disappears, the focus moves to the first link.
  focusLink() { this.message.querySelector("a")?.focus(); }
  get hasFocus() { return this.form.contains(document.activeElement); }
}
