// The admin's field for pictures: files can be dropped on it, and those that were chosen are shown before they are saved.
"use strict";

(() => {
  const PREVIEW_SIZE = 56;

  function show(zone, files) {
    const list = zone.querySelector("[data-drop-list]");
    list.replaceChildren(
      ...Array.from(files, (file) => {
        const row = document.createElement("li");
        const picture = document.createElement("img");
        picture.width = PREVIEW_SIZE;
        picture.height = PREVIEW_SIZE;
        picture.alt = file.name;
        picture.title = file.name;
        picture.className = "object-cover rounded-default";
        picture.src = URL.createObjectURL(file);
        picture.addEventListener("load", () => URL.revokeObjectURL(picture.src), { once: true });
        row.append(picture);
        return row;
      }),
    );
  }

  // Adds the dropped files to those that were chosen before.
  function take(input, dropped) {
    const all = new DataTransfer();
    for (const file of [...input.files, ...dropped]) {
      if (file.type.startsWith("image/")) all.items.add(file);
    }
    input.files = all.files;
  }

  function prepare(zone) {
    const input = zone.querySelector("input[type=file]");
    zone.querySelector("[data-drop-hint]").hidden = false;
    input.addEventListener("change", () => show(zone, input.files));
    for (const name of ["dragenter", "dragover"]) {
      zone.addEventListener(name, (event) => {
        event.preventDefault();
        zone.classList.add("bg-base-50", "dark:bg-base-800");
      });
    }
    for (const name of ["dragleave", "drop"]) {
      zone.addEventListener(name, () => zone.classList.remove("bg-base-50", "dark:bg-base-800"));
    }
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      take(input, event.dataTransfer.files);
      show(zone, input.files);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const zone of document.querySelectorAll("[data-drop-zone]")) prepare(zone);
  });
})();
