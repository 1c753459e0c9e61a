// Keeps the figures on a page of the admin up to date, and says so to other scripts by the event "figures".
// The page is complete without this script.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const EVERY_MS = 2000;
    const status = document.querySelector("[data-live-figures]");
    const cells = [...document.querySelectorAll("[data-item][data-figure]")];
    if (!status || !cells.length) return;

    const url = new URL(status.dataset.liveFigures, location.href);
    for (const item of new Set(cells.map((cell) => cell.dataset.item))) url.searchParams.append("item", item);

    // A status line speaks when its text changes, so it is only written to when it has news.
    const say = (text) => {
        if (status.textContent !== text) status.textContent = text;
    };

    const refresh = async () => {
        const response = await fetch(url, {headers: {Accept: "application/json"}, redirect: "manual"});
        if (response.type === "opaqueredirect" || response.status === 403) return say(status.dataset.signedOut);
        if (!response.ok) throw new Error(response.status);
        const figures = await response.json();
        for (const cell of cells) {
            const text = figures[cell.dataset.item]?.[cell.dataset.figure];
            if (text !== undefined && cell.textContent !== text) cell.textContent = text;
        }
        say("");
        document.dispatchEvent(new Event("figures"));
    };

    // The next question waits for the answer to the last, and a page that nobody looks at asks nothing.
    const tick = async () => {
        try {
            if (!document.hidden) await refresh();
        } catch {
            say(status.dataset.lost);
        }
        setTimeout(tick, EVERY_MS);
    };
    setTimeout(tick, EVERY_MS);
});
