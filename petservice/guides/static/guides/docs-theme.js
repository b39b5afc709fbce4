// Gives Swagger UI the theme of the page: the theme that the visitor chose, or else that of the system.
"use strict";

{
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => {
        const isDark = root.dataset.theme === "dark" || (root.dataset.theme !== "light" && system.matches);
        root.classList.toggle("dark-mode", isDark);
    };

    follow();
    system.addEventListener("change", follow);
    new MutationObserver(follow).observe(root, {attributeFilter: ["data-theme"]});
}
