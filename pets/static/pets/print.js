// Shows the buttons that print the page, which need a script.
"use strict";

for (const button of document.querySelectorAll("[data-prints]")) {
    button.hidden = false;
    button.addEventListener("click", () => print());
}
