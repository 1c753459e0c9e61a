// The calls to the shop's API. Each returns a value; only a broken connection, a timeout and a server fault (5xx, 429)
// are thrown, as a `TemporaryError`: the call may be repeated.

import { askForToken } from "../shop/me.js";
import { addSample } from "../shop/server_clock.js";
import { isSignedOut } from "./item_state.js";

// Longer than the shop needs to answer under the load of a sale's first seconds.
const TIMEOUT_MS = 6000;

export class TemporaryError extends Error {
  constructor(retryAfterMs = 0, problem = null) {
    super("temporary error");
    this.retryAfterMs = retryAfterMs;
    this.problem = problem;
  }
}

async function call(url, options) {
  const sentAt = performance.now();
  let response, body;
  try {
    response = await fetch(url, { ...options, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status === 304 || response.status === 204) return { ok: true, status: response.status };
    body = await response.json();
  } catch {
    throw new TemporaryError();
  }
  // A proxy may answer a call that names an ETag with what it kept for a second or two, so that time is no sample.
  if (body?.server_time && !options.headers["If-None-Match"]) addSample(Date.parse(body.server_time), sentAt, performance.now());
  if (response.status >= 500 || response.status === 429) {
    throw new TemporaryError((body?.retry_after ?? 0) * 1000, body);
  }
  return { ok: response.ok, status: response.status, code: body?.code, body, etag: response.headers.get("ETag") };
}

// In the language of the page, whatever the browser's is.
const accept = { Accept: "application/json", "Accept-Language": document.documentElement.lang };
const json = { ...accept, "Content-Type": "application/json" };

// The headers, and the body unless it says nothing: receiving one is a third of what a refusal costs the shop.
const having = (content, headers = {}) => Object.keys(content).length
  ? { headers: { ...json, ...headers }, body: JSON.stringify(content) }
  : { headers: { ...accept, ...headers } };

// Signing in elsewhere changes the token, so it is read from its cookie each time.
const csrfToken = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";

// After a refused token, the call is made once more: the token changes meanwhile if another tab gets its first one, or
// if somebody signs in elsewhere. The refused call has changed nothing.
async function callWithToken(url, options) {
  if (!csrfToken()) await askForToken().catch(() => { throw new TemporaryError(); });
  const send = () => call(url, { ...options, headers: { ...options.headers, "X-CSRFToken": csrfToken() } });
  const answer = await send();
  return answer.code === "csrf_failed" ? send() : answer;
}

const post = (url, body) => callWithToken(url, { method: "POST", ...having(body) });

export const getPass = (url, body = {}) => post(url, body);

export const getChallenge = (url) => post(url, {});

export const bringReceipt = (receipt) => post("/api/v1/receipts/", { receipt });

// Joins the waiting room; the token of a place brings it back if the shop has lost it.
export const joinRoom = (url, token, proof = {}) => post(url, { ...(token ? { place_token: token } : {}), ...proof });

// Sent without cookies: the token says whose place it is.
export const askPlace = (url, token) =>
  call(url, { credentials: "omit", headers: { ...accept, Authorization: `Place ${token}` } });

// Sent without cookies: the pass says who is buying. Without a number, a call means one unit.
const postWithPass = (url, pass, units) =>
  call(url, {
    method: "POST", credentials: "omit", ...having(units === 1 ? {} : { units }, { Authorization: `Pass ${pass}` }),
  });

export const reserve = postWithPass;

export const joinLine = postWithPass;

export const leaveLine = (url) => callWithToken(url, { method: "DELETE", headers: accept });

// The figures, by the ETag of those known already. `fresh` asks for the whole answer, with the time in it.
let known = {};

export async function getLive(url, { fresh = false } = {}) {
  const headers = known.etag && !fresh ? { ...accept, "If-None-Match": known.etag } : accept;
  const answer = await call(url, { credentials: "omit", headers });
  if (answer.status === 304) return { ok: true, body: known.body };
  if (answer.ok) known = answer;
  return answer;
}

// Of a reservation or a place in line. Only 404 says that the shop does not know it any more. A buyer who is signed out
// does not hear it, and any other refusal may come from something between the page and the shop.
export async function getStatus(url) {
  const answer = await call(url, { headers: accept });
  if (answer.ok || answer.status === 404 || isSignedOut(answer)) return answer;
  throw new TemporaryError();
}

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Waits longer each time, by a random share, so that clients that failed together do not retry together.
export const backoff = (attempt, retryAfterMs = 0) =>
  sleep(Math.max(retryAfterMs, Math.min(8000, 300 * 2 ** attempt)) * (0.75 + Math.random() * 0.5));

// The answer of `ask`, which is called again after temporary errors, until there is one or `giveUp(attempt)` is true.
export async function retried(ask, { onRetry = () => {}, giveUp = () => false }) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof TemporaryError) || giveUp(attempt)) throw error;
      onRetry(attempt + 1, error);
      await backoff(attempt, error.retryAfterMs);
    }
  }
}
