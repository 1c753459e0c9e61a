// Solves a challenge of a sale with proof of work (ALTCHA, version 2), in workers: the page stays quick meanwhile.

import { getChallenge } from "./api.js";

// More would only warm up the device.
const WORKERS_MAX = 4;

// That of a call without an answer. Most often the shop has not taken it, so the next call is made with it.
let unanswered = null;

// The answer to a call that may need a proof, which is solved while the buyer waits and is good for one call.
export async function proven(send, onProof) {
  const kept = unanswered;
  const answer = await sendWith(kept, send);
  if (answer.code !== "proof_needed" && !(kept && answer.code === "proof_refused")) return answer;
  onProof();
  const challenge = await getChallenge(answer.body.challenge_url);
  if (!challenge.ok) return challenge;
  const proof = await solve(challenge.body);
  return proof ? sendWith(proof, send) : answer;
}

async function sendWith(proof, send) {
  unanswered = null;
  try {
    return await (proof ? send({ proof }) : send());
  } catch (error) {
    unanswered = proof;
    throw error;
  }
}

// The proof for the call: base64 of ALTCHA's payload. Null where the browser cannot compute it: without https, for one.
async function solve(challenge) {
  const url = document.getElementById("sale").dataset.proofWorker;
  const count = Math.max(1, Math.min(WORKERS_MAX, (navigator.hardwareConcurrency ?? 2) - 1));
  const workers = Array.from({ length: count }, () => new Worker(url));
  try {
    const solution = await Promise.any(workers.map((worker, first) => found(worker, { challenge, first, step: count })));
    return btoa(JSON.stringify({ challenge, solution }));
  } catch {
    return null;
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

function found(worker, task) {
  return new Promise((resolve, reject) => {
    worker.addEventListener("message", ({ data }) => (data ? resolve(data) : reject()));
    worker.addEventListener("error", reject);
    worker.postMessage(task);
  });
}
