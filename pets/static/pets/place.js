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
        // With the fragment of a link, such as that to the search, the next page would begin there.
        history.replaceState(null, "", location.pathname + location.search);
        const [pet] = submitter.value.split(":");
        sessionStorage.setItem(KEY, JSON.stringify({url: location.href, pet, row, top: top(statuses()[row])}));
    });

    const place = JSON.parse(sessionStorage.getItem(KEY));
    sessionStorage.removeItem(KEY);
    const changed = (status) => status.querySelector("button").value.startsWith(place.pet);
    const status = place?.url === location.href && (statuses().find(changed) ?? statuses()[place.row] ?? statuses().at(-1));
    if (status) {
        scrollBy(0, top(status) - place.top);
        status.querySelector("summary").focus();
    }
}
