// Keeps the place in a list when someone changes a status in it: the next page has the row, or the one that follows, at
// the same height of the window, with the focus on its status.
"use strict";

{
    const KEY = "place in a list";
    const statuses = () => [...document.querySelectorAll(".status-menu")];
    const top = (element) => element.getBoundingClientRect().top;

    document.addEventListener("submit", ({submitter}) => {
        const row = statuses().findIndex((status) => status.contains(submitter));
        if (row < 0) return;
        sessionStorage.setItem(KEY, JSON.stringify({url: location.href, row, top: top(statuses()[row])}));
    });

    const place = JSON.parse(sessionStorage.getItem(KEY));
    sessionStorage.removeItem(KEY);
    const status = place?.url === location.href && (statuses()[place.row] ?? statuses().at(-1));
    if (status) {
        scrollBy(0, top(status) - place.top);
        status.querySelector("summary").focus({preventScroll: true});
    }
}
