// Suggests texts that begin with the text of an input, and moves the focus to the search when someone types "/".
// The list of suggestions is at the end of the page, because within a label it would be a part of the field's name.
"use strict";

const suggest = async ({target: input}) => {
    if (!(input instanceof HTMLInputElement && input.dataset.suggestions)) return;
    const text = input.value;
    const response = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({q: text})}`);
    if (!response.ok || input.value !== text) return; // the text has changed since the request
    const {suggestions} = await response.json();
    if (!input.list) {
        document.body.append(Object.assign(document.createElement("datalist"), {id: "suggestions"}));
        input.setAttribute("list", "suggestions");
    }
    input.list.replaceChildren(...suggestions.map((suggestion) => new Option(suggestion, suggestion)));
};

const focusSearch = (event) => {
    const search = document.querySelector("[data-shortcut='/']");
    const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping || !search) return;
    event.preventDefault();
    search.focus();
    search.select();
};

document.addEventListener("focusin", suggest);
document.addEventListener("input", suggest);
document.addEventListener("keydown", focusSearch);
