// Asks before someone leaves a form with input that was not saved, and sends no form twice by a double click.
"use strict";

{
    // Actions on selected rows and codes are no work that could be lost.
    const IGNORED = ":is([type=hidden], [type=password], [autocomplete=one-time-code], [name=format], .action-select, " +
        "#action-toggle, .filtered, .selector-filter input)";
    const forms = [...document.querySelectorAll("#content form[method=post]")];
    // The scripts of Django build these lists of chosen options, so the page has no default of them.
    const chosen = () => [...document.querySelectorAll(".selector-chosen option")].map(({value}) => value).join();
    let chosenFirst = null;
    let submitted = null;
    let pressed = {};

    const isEdited = (field) => {
        if (field.matches(IGNORED)) return false;
        if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
        if (!field.options) return field.value !== (field.defaultValue ?? field.value);
        // A select without a default shows its first option.
        const hasDefault = [...field.options].some(({defaultSelected}) => defaultSelected);
        return [...field.options].some((option, number) => option.selected !== (hasDefault ? option.defaultSelected : !number));
    };
    const isUnsaved = (form) => form !== submitted && ([...form.elements].some(isEdited) || form.querySelector(".errorlist") !== null);

    addEventListener("load", () => setTimeout(() => { chosenFirst = chosen(); }));
    addEventListener("pageshow", () => { submitted = null; }); // someone may come back to this page
    document.addEventListener("submit", (event) => {
        // The second response would replace the first one, which may show a key or recovery codes once.
        if (event.submitter === pressed.submitter && event.timeStamp - pressed.timeStamp < 1000) event.preventDefault();
        submitted = event.target;
        pressed = event;
    });
    addEventListener("beforeunload", (event) => {
        const isChosenAnew = !submitted && chosenFirst !== null && chosen() !== chosenFirst;
        if (isChosenAnew || forms.some(isUnsaved)) event.preventDefault();
    });
}
