// Shows the effect of a change while it is typed, from the figures that live-figures.js keeps up to date.
// The page works without this script.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const preview = document.querySelector("[data-preview]");
    const input = document.querySelector("#id_units, #id_closes_at");
    if (!preview || !input) return;

    const sign = {add_units: 1, withdraw_units: -1}[preview.dataset.preview];
    const warning = preview.querySelector("[data-warning]");

    const setText = (element, text) => {
        if (element && element.textContent !== text) element.textContent = text;
    };
    const show = (name, text) => setText(preview.querySelector(`[data-after="${name}"]`), text === "" ? "" : `→ ${text}`);

    // There is no preview for a figure that is not a number (unlimited, or not known).
    const figure = (name) => {
        const text = preview.querySelector(`[data-figure="${name}"]`)?.textContent.trim() ?? "";
        return /^\d+$/.test(text) ? Number(text) : null;
    };

    const previewUnits = () => {
        const units = /^\d+$/.test(input.value) ? sign * Number(input.value) : 0;
        const [left, quantity] = [figure("left"), figure("quantity")];
        const known = units !== 0 && left !== null && quantity !== null;
        const stock = preview.dataset.inStock;
        const inStock = stock === "" || units <= Number(stock);
        const fits = known && inStock && left + units >= 0;
        show("left", fits ? left + units : "");
        show("quantity", fits ? quantity + units : "");
        const refusal = inStock
            ? warning.dataset.tooFewLeft.replace("{left}", left)
            : warning.dataset.tooFewInStock.replace("{stock}", stock);
        setText(warning, known && !fits ? refusal : "");
    };

    // The field has no time zone: all three times are written in that of the page, and compared as if it were UTC.
    const asTyped = (text) => Date.parse(`${text}Z`);
    const nowWhenLoaded = asTyped(preview.dataset.nowAsTyped);
    const warningAboutEnd = () => {
        if (Number.isNaN(asTyped(input.value))) return "";
        if (asTyped(input.value) <= nowWhenLoaded + performance.now()) return warning.dataset.endPassed;
        return asTyped(input.value) <= asTyped(preview.dataset.opensAsTyped) ? warning.dataset.endBeforeOpening : "";
    };

    const previewValue = () => {
        const now = preview.querySelector("[data-now]").textContent.trim();
        let typed = input.value.replace("T", " ");
        // A browser leaves the seconds out where they are zero.
        if (/^\d{4}-\d\d-\d\d \d\d:\d\d$/.test(typed)) typed += ":00";
        show("value", typed === now ? "" : typed);
        if (input.type === "datetime-local") setText(warning, typed === now ? "" : warningAboutEnd());
    };

    const update = sign ? previewUnits : previewValue;
    input.addEventListener("input", update);
    document.addEventListener("figures", update);
    update();

    // The theme hides the page while it loads, and a hidden field does not get the focus by autofocus.
    if (input.autofocus) input.focus();
});
