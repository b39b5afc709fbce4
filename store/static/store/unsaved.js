// Asks before the user leaves the inventory with statuses that were chosen but not saved.
"use strict";

let isSubmitted = false;

const hasUnsavedStatus = () => [...document.querySelectorAll("#changelist-form select[name$='-status']")]
    .some(({form, name, value}) => value !== form.elements[`initial-${name}`].value);

document.addEventListener("submit", ({target}) => { isSubmitted = target.id === "changelist-form"; });
window.addEventListener("pageshow", () => { isSubmitted = false; }); // the user may come back to this page
window.addEventListener("beforeunload", (event) => {
    if (!isSubmitted && hasUnsavedStatus()) event.preventDefault();
});
