// Keeps a form the same one when someone comes back to it by the Back button. Browsers then restore what was typed, on a
// page that the server makes anew, with another token and with the present values of the record.
"use strict";

{
    // The values that the form had at first show what others have changed since.
    const first = [...document.querySelectorAll("[name^=initial-]")];
    const isBack = performance.getEntriesByType("navigation")[0].type === "back_forward";
    if (isBack) first.forEach((field, number) => { field.value = history.state?.first?.[number] ?? field.value; });
    // Not on a response to a form, which browsers would then reload without the form.
    if (first.length && !document.querySelector(".errornote")) {
        history.replaceState({...history.state, first: first.map(({value}) => value)}, "");
    }

    // A form that is sent again without a change has the same token, and adds nothing.
    document.addEventListener("submit", ({target}) => {
        const token = target.querySelector("[name=form_token]");
        if (!token) return;
        const sent = JSON.stringify([...new FormData(target)].filter(([name]) => !name.endsWith("token")));
        if (history.state?.sent === sent) token.value = history.state.token;
        history.replaceState({...history.state, sent, token: token.value}, "");
    });
}
