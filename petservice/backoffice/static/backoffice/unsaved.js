// Asks before someone leaves a form with input that was not saved. In a list with fields, marks the edited rows and
// counts them on the button that saves.
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

    const isEdited = (field) => {
        if (field.matches(IGNORED)) return false;
        if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
        if (!field.options) return field.value !== (field.defaultValue ?? field.value);
        // A select without a default shows its first option.
        const hasDefault = [...field.options].some(({defaultSelected}) => defaultSelected);
        return [...field.options].some((option, number) => option.selected !== (hasDefault ? option.defaultSelected : !number));
    };
    const edited = (form) => [...form.elements].filter(isEdited);
    const isUnsaved = (form) => form !== submitted && (edited(form).length > 0 || form.querySelector(".errorlist") !== null);

    addEventListener("load", () => setTimeout(() => { chosenFirst = chosen(); }));
    addEventListener("pageshow", () => { submitted = null; }); // someone may come back to this page
    // An action on selected rows loses what was edited in the rows.
    document.addEventListener("submit", ({target, submitter}) => { submitted = submitter?.name === "index" ? null : target; });
    addEventListener("beforeunload", (event) => {
        const isChosenAnew = !submitted && chosenFirst !== null && chosen() !== chosenFirst;
        if (isChosenAnew || forms.some(isUnsaved)) event.preventDefault();
    });

    const save = document.querySelector("#changelist-form input[name=_save]");
    if (save) {
        const label = save.value;
        const discard = Object.assign(document.createElement("button"), {type: "button", className: "button secondary", textContent: "Discard"});
        const show = () => {
            const rows = new Set(edited(save.form).map((field) => field.closest("tr")));
            for (const row of document.querySelectorAll("#result_list tbody tr")) row.classList.toggle("edited", rows.has(row));
            save.value = rows.size ? `${label} ${rows.size} change${rows.size === 1 ? "" : "s"}` : label;
            discard.hidden = !rows.size;
        };
        save.after(discard);
        save.form.addEventListener("change", show);
        discard.addEventListener("click", () => {
            for (const {options} of edited(save.form)) {
                for (const option of options) option.selected = option.defaultSelected;
            }
            show();
        });
        addEventListener("pageshow", show);
    }
}
