// Gives the icons beside the filters of Django's lists of choices a role, without which screen readers ignore their labels.
"use strict";

// After Django's own script, which makes the lists when the page has loaded.
addEventListener("load", () => setTimeout(() => {
    document.querySelectorAll(".search-label-icon").forEach((icon) => icon.setAttribute("role", "img"));
}));
