// Suggests texts that begin with the text of an input.
"use strict";

const suggest = async ({target: input}) => {
    if (!(input instanceof HTMLInputElement && input.dataset.suggestions)) return;
    const text = input.value;
    const response = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({q: text})}`);
    if (!response.ok || input.value !== text) return; // the text has changed since the request
    const {suggestions} = await response.json();
    input.list.replaceChildren(...suggestions.map((suggestion) => new Option(suggestion, suggestion)));
};

document.addEventListener("focusin", suggest);
document.addEventListener("input", suggest);
