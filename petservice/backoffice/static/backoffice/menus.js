// Closes the open menus of a page by the Escape key, and by a click or the focus elsewhere.
"use strict";

const MENUS = "details:is(.account-menu, .menu-button, .status-menu)[open]";

const closeOthers = ({target}) => {
    for (const menu of document.querySelectorAll(MENUS)) {
        if (!menu.contains(target)) menu.open = false;
    }
};

document.addEventListener("click", closeOthers);
document.addEventListener("focusin", closeOthers);
document.addEventListener("keydown", ({key}) => {
    const menu = key === "Escape" && document.querySelector(MENUS);
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
});
