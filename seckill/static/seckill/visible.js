// Waiting, on a page that asks for nothing while it is hidden.

// Resolves when the page is visible, with whether it was not.
export async function visible() {
  if (!document.hidden) return false;
  await new Promise((resolve) => { document.addEventListener("visibilitychange", resolve, { once: true }); });
  await visible();
  return true;
}

// Ends early when the page is hidden; `visible` then waits until it is shown.
export function sleepWhileVisible(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", done);
      resolve();
    }
    document.addEventListener("visibilitychange", done);
  });
}
