// The button that prints a page: a report, a pick list, packing slips.
for (const button of document.querySelectorAll("[data-print]")) {
    button.hidden = false;
    button.addEventListener("click", () => window.print());
}
