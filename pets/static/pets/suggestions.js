// Fills the list of suggestions of an input with what the service knows to begin with its text.
"use strict";

const suggest = async ({target: input}) => {
    if (!(input instanceof HTMLInputElement && input.dataset.suggestions)) return;
    const text = input.value;
    const answer = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({q: text})}`);
    if (!answer.ok || input.value !== text) return; // typed on meanwhile
    const {suggestions} = await answer.json();
    input.list.replaceChildren(...suggestions.map((suggestion) => new Option(suggestion, suggestion)));
};

document.addEventListener("focusin", suggest);
document.addEventListener("input", suggest);
