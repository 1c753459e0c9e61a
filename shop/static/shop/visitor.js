// Before a public page is shown: whether somebody seems to be signed in decides which of its parts are visible, and the
// home page goes on to the home page in the language that was chosen, or on a first visit in that of the browser. The
// server does so for a choice; but this page may come from a cache. Not a module: those run later.
"use strict";

{
  const root = document.documentElement;
  root.classList.add("js");
  root.classList.toggle("signed-in", /(?:^|; )signed_in=/.test(document.cookie));

  const subtag = (code) => code.toLowerCase().split("-")[0];
  const alternates = [...document.querySelectorAll("link[rel=alternate]")];
  if (location.pathname === "/") {
    const chosen = document.cookie.match(/(?:^|; )django_language=([^;]+)/)?.[1];
    const codes = alternates.map((link) => subtag(link.hreflang));
    const wanted = (chosen ? [chosen] : navigator.languages).map(subtag).find((code) => codes.includes(code));
    const alternate = alternates[codes.indexOf(wanted)];
    if (alternate && wanted !== subtag(root.lang)) {
      location.replace(new URL(alternate.href).pathname + location.search + location.hash);
    }
  }
}
