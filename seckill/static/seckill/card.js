// Writes one item's card on the page: stock, button, message. item_state.js decides what.

import { locale } from "../shop/locale.js";

// What the buyer's orders explain.
const CODES_WITH_ORDERS = ["limit_reached", "hold_ended"];

// Where staff have raised the limit far: a page that is opened then has a number field.
const CHOICES_MAX = 100;

const number = new Intl.NumberFormat(locale);

// The same choice as `pause_note_text` in seckill/live/page_texts.py.
export const noteText = (note) =>
  (note ? note[document.documentElement.lang.toLowerCase()] ?? Object.values(note)[0] ?? "" : "");

export function writeNote(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = !text;
}

export const fill = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

// The same text as `stock_text` in seckill/live/page_texts.py.
export function stockText(live, texts) {
  const values = Object.fromEntries(
    ["left", "quantity", "held", "sold"].map((name) => [name, number.format(live[name] ?? 0)]));
  const ended = live.quantity === null ? "ended_unlimited" : "ended";
  const text = fill(texts[live.phase === "ended" ? ended : live.availability], values);
  return live.held && live.quantity !== null ? `${text} · ${fill(texts.held, values)}` : text;
}

// The same text as `limit_text` in seckill/live/page_texts.py.
function limitText({ remaining, max }, texts) {
  const text = remaining === max ? texts.all : texts.some;
  return fill(remaining ? text : texts.none, { had: max - remaining, max, remaining });
}

function retryingText({ attempt, code }, { outcomes, errors }) {
  const { title, detail } = errors.connection;
  return { title: outcomes[code]?.title ?? title, detail: fill(detail, { attempt }) };
}

// A text with the element of a time in it, which shop/static/shop/visitor.js fills in as on all pages.
function withTime(text, iso) {
  const [before, after] = text.split("{time}");
  if (after === undefined) return [text];
  const time = document.createElement("time");
  time.dateTime = iso;
  Object.assign(time.dataset, { shown: "clock", byScript: "" });
  return [before, time, after];
}

// A heading and the text below it.
function paragraphs({ title, detail, time }) {
  const [heading, text] = [document.createElement("strong"), document.createElement("p")];
  heading.textContent = title;
  text.append(...withTime(detail, time));
  return [heading, text];
}

// A refusal without a text of the page has that of the API.
function refusedText({ code, title, detail }, limit, { outcomes, errors, limit: limitTexts }) {
  if (code === "limit_reached" && limit.remaining < limit.max) {
    const text = limitText(limit, limitTexts);
    return { title: outcomes[code].title, detail: limit.remaining ? text : `${text} ${limitTexts.none_left}` };
  }
  return outcomes[code] ?? { title: title ?? errors.failed.title, detail: detail ?? "" };
}

export class Card {
  constructor(root, sale) {
    this.root = root;
    this.sale = sale;
    this.texts = sale.texts;
    this.name = root.dataset.name;
    this.form = root.querySelector("form.buy");
    this.button = root.querySelector("[data-buy]");
    this.message = root.querySelector("[data-outcome]");
    this.lineButton = root.querySelector("[data-line]");
  }

  get unitsField() { return this.form?.elements.units; }
  get units() { return Number(this.unitsField?.value ?? 1); }
  set units(units) { if (this.unitsField) this.unitsField.value = units; }
  // A number that cannot be reserved, or none, gives way to the one before.
  unitsOr(before) {
    if (before && !this.form.checkValidity()) this.units = before;
    return this.units;
  }

  get valid() { return this.form.reportValidity(); }

  setStock(live) {
    this.root.querySelector("[data-stock-text]").textContent = stockText(live, this.texts.stock);
    const share = (units) => (live.quantity ? `${(100 * units) / live.quantity}%` : "100%");
    const known = live.availability !== "unavailable" && live.phase !== "ended";
    this.root.querySelector(".bar-left").setAttribute("width", known ? share(live.left ?? 0) : "0%");
    this.root.querySelector(".bar-held").setAttribute("width", known ? share((live.left ?? 0) + live.held) : "0%");
    this.root.classList.toggle("sold_out", live.availability === "sold_out");
  }

  setPauseNote(text) { writeNote(this.root.querySelector("[data-item-note]"), text); }

  // How many units the buyer can still take: in words, and in the choice, which keeps what was chosen if it can.
  setRemaining({ remaining, max }) {
    const text = this.root.querySelector("[data-limit]");
    if (text) text.textContent = limitText({ remaining, max }, this.texts.limit);
    const field = this.unitsField;
    if (!field) return;
    field.closest("label").hidden = max === 1;
    const [most, chosen] = [Math.max(1, remaining), this.units];
    // As many as before are possible: a number that is just being typed is left alone.
    if (most === (field.options?.length ?? Number(field.max))) return;
    if (field.options) {
      const choices = Math.min(most, CHOICES_MAX);
      field.replaceChildren(...Array.from({ length: choices }, (_, index) => new Option(index + 1)));
    } else field.max = most;
    // A field that is empty just now stays so.
    if (chosen) this.units = Math.min(chosen, most);
  }

  // `off` keeps the button readable and reachable by keyboard, unlike the disabled attribute.
  setButton(label, { step, off = false, hidden = false }) {
    this.root.dataset.step = step;
    if (!this.button) return;
    if (this.button.textContent !== label) this.button.textContent = label;
    this.button.setAttribute("aria-disabled", String(off));
    this.form.hidden = hidden;
  }

  setLineButton(label, { off, hidden }) {
    if (!this.lineButton) return;
    if (this.lineButton.textContent !== label) this.lineButton.textContent = label;
    this.lineButton.setAttribute("aria-disabled", String(off));
    this.lineButton.hidden = hidden;
  }

  // The message of a state, with links below it. The element is a live region, so a screen reader reads it out. It is
  // missing if the sale was over when the page was opened.
  showMessage(message, limit) {
    if (!this.message) return;
    const texts = [message, message.refusal].filter(Boolean).map((one) => this.textOf(one, limit));
    const [{ links = [] }] = texts;
    const anchors = links.map(({ href, label, newTab }) => {
      const anchor = document.createElement("a");
      [anchor.href, anchor.textContent] = [href, label];
      if (newTab) [anchor.target, anchor.rel] = ["_blank", "noopener"];
      return anchor;
    });
    const hadFocus = this.message.contains(document.activeElement);
    this.message.className = `outcome ${message.tone}`;
    this.message.replaceChildren(...texts.flatMap(paragraphs), ...anchors);
    if (hadFocus) this.focusLink();
  }

  textOf(message, limit) {
    const { texts, sale: { ordersUrl, signInUrl } } = this;
    const myOrders = { href: ordersUrl, label: texts.reserved.my_orders };
    const viewOrder = { href: `${ordersUrl}${message.order}/`, label: texts.reserved.view_order };
    const signInToPay = { href: signInUrl, label: texts.reserved.sign_in };
    const orderLinks = message.order ? [viewOrder, myOrders] : [myOrders];
    switch (message.kind) {
      case "scheduled":
        return {
          title: texts.scheduled.title,
          detail: fill(texts.scheduled.detail, { units: message.units, product: this.name }),
          links: this.sale.needsAddress ? [{ href: this.sale.addressUrl, label: texts.scheduled.no_address, newTab: true }] : [],
        };
      case "schedule_cancelled":
        return { title: texts.schedule_cancelled, detail: "" };
      case "retrying":
        return retryingText(message, texts);
      case "refused":
        return { ...refusedText(message, limit, texts), links: CODES_WITH_ORDERS.includes(message.code) ? orderLinks : [] };
      case "reserved":
        return { ...this.reservedText(message), links: message.detail === "signed_out" ? [signInToPay] : orderLinks };
      case "reservation_ended":
        return { ...texts.reservation_ended, links: [myOrders] };
      case "no_answer":
        return { ...texts.errors.no_answer, links: [myOrders] };
      case "signed_out":
        return { ...texts.errors.signed_out, links: [{ href: signInUrl, label: texts.sign_in }] };
      case "units_back":
        return texts.units_back;
      case "waiting":
        return { title: this.placeText(message), detail: message.note };
      case "left_line":
        return { title: texts.line.left, detail: "" };
      case "place_lost":
        return texts.line.lost;
      case "line_ended":
        return { title: texts.line.ended, detail: message.note };
      default:
        return texts.errors.failed;
    }
  }

  reservedText({ detail, units, expires_at }) {
    const { reserved } = this.texts;
    return { title: fill(reserved.title, { units, product: this.name }), detail: reserved[detail], time: expires_at };
  }

  placeText({ place, units }) {
    return fill(this.texts.line.place, { place: number.format(place), units, product: this.name });
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
