// Solves a challenge of a sale with proof of work (ALTCHA, version 2), in workers: the page stays quick meanwhile.

// More would only warm up the device.
const WORKERS_MAX = 4;

// The proof for the call: base64 of ALTCHA's payload. Null where the browser cannot compute it: without https, for one.
export async function solve(challenge) {
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
