// Before a page is shown: whether somebody seems to be signed in decides which parts of a public one are visible, times
// are also written in the visitor's own zone, and a public page without a language in its address goes on to the same
// page in the language that was chosen, or else in that of the browser. Not a module: those run later.
"use strict";

{
  const root = document.documentElement;
  root.classList.add("js");
  root.classList.toggle("signed-in", /(?:^|; )signed_in=/.test(document.cookie));

  const subtag = (code) => code.toLowerCase().split("-")[0];
  const alternates = [...document.querySelectorAll("link[rel=alternate]")];
  if (alternates.length && new URL(alternates.at(-1).href).pathname === location.pathname) {
    const chosen = document.cookie.match(/(?:^|; )django_language=([^;]+)/)?.[1];
    const codes = alternates.map((link) => subtag(link.hreflang));
    const wanted = (chosen ? [chosen] : navigator.languages).map(subtag).find((code) => codes.includes(code));
    const alternate = alternates[codes.indexOf(wanted)];
    if (alternate && wanted !== subtag(root.lang)) {
      location.replace(new URL(alternate.href).pathname + location.search + location.hash);
    }
  }
}

// The visitor's own time before the shop's, wherever it differs. Written as the parser and scripts add the elements, so
// that nothing on the page moves. The texts are in the form of shop/times/zone.py.
{
  const { lang } = document.documentElement;
  const { zone, own, shops } = document.currentScript.dataset;

  const textIn = (timeZone, { dateTime, dataset: { shown, until } }) => {
    const year = shown === "year" ? "numeric" : undefined;
    const days = new Intl.DateTimeFormat(lang, { month: "short", day: "numeric", year, timeZone });
    const clocks = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone });
    const [at, end] = [new Date(dateTime), until && new Date(until)];
    const [day, clock] = [days.format(at), clocks.format(at)];
    if (shown === "clock" && day === days.format(new Date())) return clock;
    if (!end) return `${day} ${clock}`;
    const last = days.format(end);
    return last === day ? `${day} ${clock}–${clocks.format(end)}` : `${day} ${clock} – ${last} ${clocks.format(end)}`;
  };

  const show = (element) => {
    const [ownText, shopsText] = [textIn(undefined, element), textIn(zone, element)];
    if (element.dataset.byScript !== undefined) element.textContent = shops.replace("{time}", shopsText);
    if (ownText !== shopsText) {
      const [first, second] = ["own-time", "shops-time"].map((name) => {
        const part = document.createElement("span");
        part.className = name;
        return part;
      });
      first.textContent = `${own.replace("{time}", ownText)} ·`;
      second.append(...element.childNodes);
      element.append(first, " ", second);
    }
    delete element.dataset.shown;
  };

  new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target.matches?.("time[data-shown]")) show(target);
      for (const element of target.querySelectorAll("time[data-shown]")) show(element);
    }
  }).observe(document.documentElement, { childList: true, subtree: true });
}
