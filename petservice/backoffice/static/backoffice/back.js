// Keeps a form the same one when someone comes back to it by the Back button. Browsers then restore what was typed, on a
// page that the server makes anew, with another token, the present values of the record and the present rows of a list.
"use strict";

{
    const boxes = () => [...document.querySelectorAll(".action-select")];
    const hidden = () => [...document.querySelectorAll("[name^=initial-]")];
    const form = hidden()[0]?.form;
    const keepValues = () => {
        // Not on a response to a form, which browsers would then reload without the form.
        if (!form || document.querySelector(".errornote")) return;
        history.replaceState({...history.state, first: hidden().map(({name, value}) => ({name, value}))}, "");
    };

    // The values that the form had at first show what others have changed since. A field that has the present value was
    // not changed, or its change is saved.
    const restoreValues = () => {
        const isPresent = ({name, value}) => {
            const field = form.elements[name.slice("initial-".length)];
            return field && !field.multiple && field.value === value;
        };
        const names = new Set(hidden().filter(isPresent).map(({name}) => name));
        hidden().filter(({name}) => !names.has(name)).forEach((field) => field.remove());
        const earlier = history.state.first.filter(({name}) => !names.has(name));
        form.append(...earlier.map((one) => Object.assign(document.createElement("input"), {type: "hidden", ...one})));
    };

    if (performance.getEntriesByType("navigation")[0].type !== "back_forward") {
        // A page that was reloaded has another form, and no ticks.
        if (history.state) history.replaceState({...history.state, sent: null, ticked: null}, "");
        keepValues();
    } else {
        // Before this event, browsers have not restored all fields.
        addEventListener("pageshow", () => {
            if (form && history.state?.first) restoreValues();
            keepValues();
            const ticked = history.state?.ticked ?? [];
            boxes().filter(({value, checked}) => ticked.includes(value) !== checked).forEach((box) => box.click());
        }, {once: true});
    }

    // The rows that were ticked, by their records and their versions. Browsers would tick those at the same places.
    const keepTicks = () => {
        const ticked = boxes().filter(({checked}) => checked).map(({value}) => value);
        if (boxes().length) history.replaceState({...history.state, ticked}, "");
    };
    document.addEventListener("click", keepTicks);
    document.addEventListener("change", keepTicks);  // after Django has ticked the rows up to one with the Shift key

    // A form that is sent again without a change has the same token, and adds nothing.
    document.addEventListener("submit", ({target}) => {
        const token = target.querySelector("[name=form_token]");
        if (!token) return;
        const sent = JSON.stringify([...new FormData(target)].filter(([name]) => !name.endsWith("token")));
        if (history.state?.sent === sent) token.value = history.state.token;
        history.replaceState({...history.state, sent, token: token.value}, "");
    });
}
