// The admin's page of a stock: shows what the stock will be while somebody types.
"use strict";

(() => {
  function prepare() {
    const units = document.getElementById("id_units");
    const seen = document.getElementById("id_seen");
    if (!units || !seen) return;
    const after = document.createElement("output");
    after.setAttribute("for", "id_units");
    after.className = "font-semibold text-important";
    units.after(after);

    function show() {
      const chosen = document.querySelector("input[name=how]:checked");
      const number = Number.parseInt(units.value, 10);
      const now = Number.parseInt(seen.value, 10);
      const then = chosen && chosen.value === "count" ? number : now + number;
      after.textContent = Number.isNaN(number) ? "" : `${now} → ${then}`;
    }
    document.addEventListener("input", show);
    document.addEventListener("change", show);
    show();
  }
  document.addEventListener("DOMContentLoaded", prepare);
})();
