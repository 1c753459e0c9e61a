// The calls to the shop's API. Each answers with a value; only a broken connection, a timeout and a server in trouble
// (5xx, 429) are `Trouble`, which says that the call may be repeated.

import { learn } from "../shop/server_clock.js";

// A server under a stampede answers late rather than not at all; beyond this nobody believes in it any more.
const TIMEOUT_MS = 6000;

export class Trouble extends Error {
  constructor(retryAfterMs = 0, problem = null) {
    super("trouble");
    this.retryAfterMs = retryAfterMs;
    this.problem = problem;
  }
}

async function call(url, options) {
  const sentAt = performance.now();
  let response, body;
  try {
    response = await fetch(url, { ...options, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    body = await response.json();
  } catch {
    throw new Trouble();
  }
  if (body?.server_time) learn(Date.parse(body.server_time), sentAt, performance.now());
  if (response.status >= 500 || response.status === 429) throw new Trouble((body?.retry_after ?? 0) * 1000, body);
  return { ok: response.ok, status: response.status, code: body?.code, body };
}

const json = { Accept: "application/json", "Content-Type": "application/json" };

// Signing in elsewhere changes the token, so it is read from its cookie each time.
const csrfToken = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1]
  ?? document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

export const getPass = (url) =>
  call(url, { method: "POST", headers: { ...json, "X-CSRFToken": csrfToken() }, body: "{}" });

// The hot path carries no cookies: the pass says who is buying.
export const reserve = (url, pass, units) =>
  call(url, {
    method: "POST", credentials: "omit", headers: { ...json, Authorization: `Pass ${pass}` },
    body: JSON.stringify({ units }),
  });

export const getLive = (url) => call(url, { credentials: "omit", headers: { Accept: "application/json" } });

export const getStatus = (url) => call(url, { headers: { Accept: "application/json" } });

export const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Waits longer each time, and never as long as the neighbour: those who failed together must not come back together.
export const backoff = (attempt, retryAfterMs = 0) =>
  pause(Math.max(retryAfterMs, Math.min(8000, 300 * 2 ** attempt)) * (0.75 + Math.random() * 0.5));
