// Adds a button to each block of code that copies it. Browsers let pages copy only over HTTPS and from this machine.
"use strict";

for (const code of navigator.clipboard ? document.querySelectorAll("pre > code") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
    });
    code.parentElement.before(button);
}
