// The live board of a sale: fetches its figures each second, and draws them. The figures need no sign-in but a token of
// the page, so that they come while PostgreSQL is away. When the sale changes, the page's own parts are renewed.

import { start } from "../shop/countdown.js";
import { addSample } from "../shop/server_clock.js";

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;
// The token is good for an hour.
const RENEW_MS = 600_000;
const TRY_AGAIN_MS = 10_000;
const SUMMARY_MS = 30_000;
const UNKNOWN = "–";
const board = document.getElementById("board");

const number = new Intl.NumberFormat(document.documentElement.lang);
const percent = new Intl.NumberFormat(document.documentElement.lang, {style: "percent", maximumFractionDigits: 1});
const clock = new Intl.DateTimeFormat(document.documentElement.lang, {
    timeStyle: "medium",
    hourCycle: "h23",
    // As the other times of the page.
    timeZone: board.dataset.zone,
});
const shown = (value, format = number) => (value === undefined || value === null ? UNKNOWN : format.format(value));
// A screen reader reads out what is written to a status, so only a new text is written.
const write = (element, text) => {
    // A sale with a draw has neither a chart nor figures of calls.
    if (element && element.textContent !== text) element.textContent = text;
};
const sum = (values) => {
    const known = values.filter((value) => value !== undefined);
    return known.length ? known.reduce((total, value) => total + value, 0) : undefined;
};

let latest = null;
let renewAt = Date.now() + RENEW_MS;
let refusedUntil = 0;
let summaryAt = 0;

const bars = (heights, bases, scale) =>
    heights.map((height, x) =>
        height ? `M${x + .1} ${100 - bases[x] * scale}h.8v${-height * scale}h-.8z` : "").join("");

const drawChart = (seconds) => {
    const groups = Object.entries(seconds);
    const asked = groups[0][1].map((value, x) =>
        value === null ? null : groups.reduce((total, [, values]) => total + values[x], 0));
    const highest = Math.max(...asked, 0);
    const bases = asked.map(() => 0);
    for (const [group, values] of groups) {
        board.querySelector(`path[data-group="${group}"]`).setAttribute("d", bars(values, bases, 95 / (highest || 1)));
        for (const [x, value] of values.entries()) bases[x] += value ?? 0;
        write(board.querySelector(`[data-last="${group}"]`), shown(values.at(-1)));
    }
    const lost = asked.map((value) => (value === null ? 100 : 0));
    board.querySelector("path.board-lost").setAttribute("d", bars(lost, asked.map(() => 0), 1));
    board.querySelector("[data-gap]").hidden = !lost.some(Boolean);
    const line = board.querySelector("[data-highest]");
    write(line, line.dataset.highest.replace("%s", number.format(highest)));
    return asked.at(-1);
};

const drawItems = (items) => {
    for (const [id, item] of Object.entries(items)) {
        const words = item.words && Object.values(item.words);
        const figures = {...item, asked: words && sum([0, ...words]), yes: item.words && (item.words.reserved ?? 0)};
        for (const cell of board.querySelectorAll(`[data-item="${id}"] [data-figure]`)) {
            const value = figures[cell.dataset.figure];
            write(cell, value === null ? board.dataset.unlimited : shown(value));
        }
    }
};

const drawWords = (answer, items) => {
    const known = items.some((item) => item.words);
    for (const row of board.querySelectorAll("[data-word]")) {
        const {word} = row.dataset;
        write(row.querySelector("[data-figure=minute]"), known ? shown(answer.minute[word] ?? 0) : UNKNOWN);
        const total = known ? sum(items.map((item) => item.words?.[word] ?? 0)) : undefined;
        write(row.querySelector("[data-figure=total]"), shown(total));
    }
};

const drawSums = (answer, items, asked) => {
    const all = (name) => sum(items.map((item) => item[name]));
    const [orders, paid, known] = [all("orders"), all("paid"), items.some((item) => item.words)];
    const lags = items.map((item) => item.lag_ms).filter((value) => value !== undefined);
    const limited = items.filter((item) => item.left !== null);
    const left = limited.length ? shown(sum(limited.map((item) => item.left))) : board.dataset.unlimited;
    const figures = {
        asked: shown(asked),
        yes: shown(answer.seconds.yes.at(-1)),
        left,
        held: shown(all("held")),
        sold: shown(all("sold")),
        orders: shown(orders),
        share: orders ? shown(paid / orders, percent) : UNKNOWN,
        in_line: shown(all("in_line")),
        waiting: shown(all("waiting")),
        lag: lags.length ? shown(Math.round(Math.max(...lags) / 1000)) : UNKNOWN,
        errors: known ? shown((answer.minute.unavailable ?? 0) + (answer.minute.error ?? 0)) : UNKNOWN,
    };
    for (const [name, text] of Object.entries(figures)) write(board.querySelector(`[data-sum="${name}"]`), text);
    if ((known || answer.more.draw_stage) && Date.now() - summaryAt >= SUMMARY_MS) {
        summaryAt = Date.now();
        const minute = {asked: shown(sum([0, ...Object.values(answer.minute)])), yes: shown(answer.minute.reserved ?? 0), left};
        const text = board.dataset.summary.replace(/%\((\w+)\)s/g, (_, name) => minute[name] ?? shown(answer.more[name]));
        write(board.querySelector("[data-summary-text]"), text);
    }
};

// The figures of a draw or a waiting room. A cell has the words of a figure that is no number.
const drawMore = (more) => {
    for (const cell of board.querySelectorAll("[data-more]")) {
        const value = more[cell.dataset.more];
        write(cell, cell.dataset[value] ?? shown(value));
    }
    for (const step of board.querySelectorAll("[data-stage]")) {
        if (step.dataset.stage === more.draw_stage) step.setAttribute("aria-current", "step");
        else step.removeAttribute("aria-current");
    }
};

const drawSources = (sources) => {
    for (const line of board.querySelectorAll("[data-away]")) {
        const {up, as_of_ms: asOf} = sources[line.dataset.away];
        const text = asOf === null ? line.dataset.unknown : line.dataset.old.replace("%s", clock.format(asOf));
        write(line, up ? "" : text);
    }
};

const draw = (answer) => {
    // A web process of the release before does not know them.
    answer.more ??= {};
    const items = Object.values(answer.items);
    const asked = board.querySelector("svg") ? drawChart(answer.seconds) : null;
    drawItems(answer.items);
    drawWords(answer, items);
    drawSums(answer, items, asked);
    drawMore(answer.more);
    drawSources(answer.sources);
    write(board.querySelector("[data-clock]"), clock.format(answer.now_ms));
};

// The parts of the page that only the page has: phase, buttons, journal, and the token.
const renew = async () => {
    renewAt = Date.now() + TRY_AGAIN_MS;
    const response = await fetch(location.href, {redirect: "manual", signal: AbortSignal.timeout(PATIENCE_MS)});
    if (response.type === "opaqueredirect" || response.status === 403) return false;
    if (!response.ok) throw new Error(response.status);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    const focused = document.activeElement?.getAttribute("href");
    for (const part of document.querySelectorAll("[data-live-part]")) {
        const renewed = fresh.querySelector(`[data-live-part="${part.dataset.livePart}"]`);
        if (!renewed) continue;
        const hadFocus = part.contains(document.activeElement);
        part.replaceWith(renewed);
        if (hadFocus && focused) renewed.querySelector(`a[href="${focused}"]`)?.focus();
    }
    renewAt = Date.now() + RENEW_MS;
    return true;
};

const refresh = async () => {
    const {token} = board.querySelector("[data-token]").dataset;
    const sentAt = performance.now();
    const response = await fetch(board.dataset.figures, {
        headers: {Authorization: `Board ${token}`},
        credentials: "omit",
        signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const problem = board.querySelector("[data-problem]");
    if (response.status === 403) {
        if (Date.now() < refusedUntil) return;
        refusedUntil = Date.now() + TRY_AGAIN_MS;
        if (!await renew()) write(problem, board.dataset.signedOut);
        return;
    }
    if (!response.ok) throw new Error(response.status);
    const answer = await response.json();
    addSample(answer.now_ms, sentAt, performance.now());
    const changed = latest && answer.version && latest.version && answer.version !== latest.version;
    latest = answer;
    write(problem, "");
    draw(answer);
    if (changed || Date.now() >= renewAt) {
        // While PostgreSQL is away the page cannot be renewed, and the figures go on.
        renew().catch(() => {});
    }
};

// The next call waits for the answer to the last one. A hidden page makes none.
const tick = async () => {
    try {
        if (!document.hidden) await refresh();
    } catch {
        const at = latest ? clock.format(latest.now_ms) : UNKNOWN;
        write(board.querySelector("[data-problem]"), board.dataset.lost.replace("%s", at));
    }
    setTimeout(tick, EVERY_MS);
};
tick();
start();

const fullScreen = board.querySelector("[data-full-screen]");
fullScreen.hidden = !document.fullscreenEnabled;
fullScreen.addEventListener("click", () =>
    document.fullscreenElement ? document.exitFullscreen() : board.requestFullscreen());
