// Tells people whose clock has another time zone than the store that a field for a day means the day of the store.
"use strict";

for (const field of document.querySelectorAll("input[data-zone]")) {
    const hours = -new Date().getTimezoneOffset() / 60 - document.body.dataset.adminUtcOffset / 3600;
    if (!hours) continue;
    const clock = `${Math.abs(hours)} hour${Math.abs(hours) === 1 ? "" : "s"} ${hours > 0 ? "ahead" : "behind"}`;
    const note = Object.assign(document.createElement("div"), {className: "help"});
    note.textContent = `Days are ${field.dataset.zone}; your clock is ${clock}.`;
    field.parentElement.after(note);
}
