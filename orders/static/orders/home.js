// The first page of the admin renews its parts every ten seconds. They need no sign-in but a token of the page, so that
// they come while PostgreSQL or the cache is away. The page works without this script.

const EVERY_MS = 10_000;
const PATIENCE_MS = 8000;
// The token is good for an hour.
const RENEW_MS = 1_800_000;
const home = document.getElementById("home");
const problem = home?.querySelector("[data-problem]");
const clock = new Intl.DateTimeFormat(document.documentElement.lang, {
    timeStyle: "medium",
    hourCycle: "h23",
    // As the other times of the page.
    timeZone: home?.dataset.zone,
});

let renewAt = Date.now() + RENEW_MS;
let renewedAt = Date.now();

// A screen reader reads out what is written to a status, so only a new text is written.
const say = (text) => {
    if (problem.textContent !== text) problem.textContent = text;
};

// The theme has drawn the chart: it gets other values and keeps its look. Without values it was not drawn.
const redraw = (canvas, fresh) => {
    if (!fresh?.dataset.value || canvas.dataset.value === fresh.dataset.value) return;
    canvas.dataset.value = fresh.dataset.value;
    const chart = window.Chart.getChart(canvas);
    if (!chart) return;
    const {labels, datasets} = JSON.parse(fresh.dataset.value);
    chart.data.labels = labels;
    for (const [number, {data}] of datasets.entries()) chart.data.datasets[number].data = data;
    chart.update();
};

const replaceParts = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const focused = document.activeElement?.getAttribute("href");
    for (const part of home.querySelectorAll("[data-part]")) {
        const renewed = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
        if (!renewed || renewed.innerHTML === part.innerHTML) continue;
        const hadFocus = part.contains(document.activeElement);
        part.replaceChildren(...renewed.childNodes);
        if (hadFocus && focused) part.querySelector(`a[href="${focused}"]`)?.focus();
    }
    const canvases = [...home.querySelectorAll("[data-chart] canvas")];
    for (const canvas of canvases) {
        const {chart} = canvas.closest("[data-chart]").dataset;
        redraw(canvas, fresh.querySelector(`[data-chart="${chart}"] canvas`));
    }
    // The theme draws all charts of a page at once, and so the first values come to all of them at once.
    const isDrawn = (canvas) => window.Chart.getChart(canvas);
    if (canvases.some((canvas) => canvas.dataset.value) && !canvases.some(isDrawn)) renderCharts();
};

// False: nobody is signed in any more, or may no longer see it.
const renewToken = async () => {
    const response = await fetch(location.href, {redirect: "manual", signal: AbortSignal.timeout(PATIENCE_MS)});
    if (response.type === "opaqueredirect" || response.status === 403) return false;
    if (!response.ok) throw new Error(response.status);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("home");
    if (!fresh) return false;
    home.dataset.token = fresh.dataset.token;
    renewAt = Date.now() + RENEW_MS;
    return true;
};

const refresh = async () => {
    // While the cache is away nobody can be asked for another token, and this one goes on.
    if (Date.now() >= renewAt) await renewToken().catch(() => {});
    const response = await fetch(home.dataset.parts, {
        headers: {Authorization: `Home ${home.dataset.token}`},
        credentials: "omit",
        signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (response.status === 403) {
        if (!await renewToken()) say(home.dataset.signedOut);
        return;
    }
    if (!response.ok) throw new Error(response.status);
    replaceParts(await response.text());
    renewedAt = Date.now();
    say("");
};

// The next call waits for the answer to the last one. A hidden page makes none, and is renewed when it is seen again.
let timer;
const tick = async () => {
    clearTimeout(timer);
    try {
        if (!document.hidden) await refresh();
    } catch {
        say(home.dataset.lost.replace("{time}", clock.format(renewedAt)));
    }
    timer = setTimeout(tick, EVERY_MS);
};
if (home) timer = setTimeout(tick, EVERY_MS);
document.addEventListener("visibilitychange", () => {
    if (home && !document.hidden) tick();
});
