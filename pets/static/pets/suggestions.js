// Fills the list of suggestions of an input with what the service knows to begin with its text.
"use strict";

for (const input of document.querySelectorAll("input[data-suggestions]")) {
    const suggest = async () => {
        const text = input.value;
        const answer = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({q: text})}`);
        if (!answer.ok || input.value !== text) return; // typed on meanwhile
        const {suggestions} = await answer.json();
        input.list.replaceChildren(...suggestions.map((suggestion) => new Option(suggestion, suggestion)));
    };
    input.addEventListener("focus", suggest);
    input.addEventListener("input", suggest);
}
