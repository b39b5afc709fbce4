// Leaves the fields for IDs and keys of Swagger UI empty, where it fills in examples that no service knows. Fills in the
// ID of the pet that a request has returned. The file is a script of its own, because it needs the `ui` of the page.
"use strict";

{
    const EXAMPLES_ONLY = ["petId", "after", "Idempotency-Key"];
    const GET_PET = ["/pets/{petId}", "get"];
    const RETURN_PETS = [["/pets", "get"], ["/pets", "post"], GET_PET];
    let suggested = null;

    const parameters = (operation) => ui.specSelectors.specJson().getIn(["paths", ...operation, "parameters"]);
    const write = (operation, parameter, value) => ui.specActions.changeParamByIdentity(operation, parameter, value);

    const empty = () => {
        for (const operation of RETURN_PETS) {
            for (const parameter of parameters(operation)) {
                if (EXAMPLES_ONLY.includes(parameter.get("name"))) write(operation, parameter, null);
            }
        }
    };

    const returnedPet = (operation) => {
        const response = ui.specSelectors.responseFor(...operation);
        if (!response?.get("ok")) return null;
        const pets = [JSON.parse(response.get("text"))].flat();
        return pets.at(-1)?.id ?? null;
    };

    const suggest = (id) => {
        const parameter = parameters(GET_PET).first();
        const value = ui.specSelectors.parameterWithMetaByIdentity(GET_PET, parameter).get("value");
        const isTyped = value && value !== suggested;
        suggested = id;
        if (isTyped) return;
        write(GET_PET, parameter, id);
        ui.specActions.clearValidateParams(GET_PET);
    };

    let isEmptied = false;
    let shown = [];
    ui.getStore().subscribe(() => {
        if (!parameters(GET_PET)) return; // the document is not loaded yet
        if (!isEmptied) {
            isEmptied = true;
            empty();
        }
        const responses = RETURN_PETS.map((operation) => ui.specSelectors.responseFor(...operation));
        const changed = responses.findIndex((response, number) => response !== shown[number]);
        shown = responses;
        const id = changed === -1 ? null : returnedPet(RETURN_PETS[changed]);
        if (id) suggest(id);
    });
}
