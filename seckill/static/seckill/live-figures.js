// Keeps the figures on an admin page up to date and fires the event "figures" for other scripts. When the phase or the
// end of a sale changes, the parts of the page that depend on it are renewed; what is typed into its form stays.
// The page works without this script.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const EVERY_MS = 2000;
    const status = document.querySelector("[data-live-figures]");
    const PARTS = "[data-live-part], #result_list";
    const findCells = () => [...document.querySelectorAll("[data-item][data-figure]")];
    const cells = findCells();
    if (!status || !cells.length) return;

    const url = new URL(status.dataset.liveFigures, location.href);
    for (const item of new Set(cells.map((cell) => cell.dataset.item))) url.searchParams.append("item", item);

    // A screen reader reads the status line out whenever it is written to, so it is only written to if the text is new.
    const setStatus = (text) => {
        if (status.textContent !== text) status.textContent = text;
    };

    const renewParts = async () => {
        const response = await fetch(location.href, {redirect: "manual", signal: AbortSignal.timeout(4 * EVERY_MS)});
        if (!response.ok) throw new Error(response.status);
        const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
        const focused = document.activeElement?.getAttribute("href");
        for (const part of document.querySelectorAll(PARTS)) {
            const selector = part.id ? `#${part.id}` : `[data-live-part="${part.dataset.livePart}"]`;
            const renewed = fresh.querySelector(selector);
            if (!renewed) continue;
            const hadFocus = part.contains(document.activeElement);
            part.replaceWith(renewed);
            if (hadFocus && focused) renewed.querySelector(`a[href="${focused}"]`)?.focus();
        }
    };

    const refresh = async () => {
        const response = await fetch(url, {redirect: "manual", headers: {Accept: "application/json"}, signal: AbortSignal.timeout(4 * EVERY_MS)});
        if (response.type === "opaqueredirect" || response.status === 403) return setStatus(status.dataset.signedOut);
        if (!response.ok) throw new Error(response.status);
        const figures = await response.json();
        const changed = (cell) => {
            const state = figures[cell.dataset.item]?.state;
            return cell.dataset.figure === "state" && state !== undefined && cell.textContent !== state;
        };
        if (document.querySelector(PARTS) && findCells().some(changed)) await renewParts();
        for (const cell of findCells()) {
            const text = figures[cell.dataset.item]?.[cell.dataset.figure];
            if (text !== undefined && cell.textContent !== text) cell.textContent = text;
        }
        setStatus("");
        document.dispatchEvent(new CustomEvent("figures", {detail: figures}));
    };

    // The next request waits for the answer to the last one. A hidden page sends none.
    const tick = async () => {
        try {
            if (!document.hidden) await refresh();
        } catch {
            setStatus(status.dataset.lost);
        }
        setTimeout(tick, EVERY_MS);
    };
    setTimeout(tick, EVERY_MS);
});
