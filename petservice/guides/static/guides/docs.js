// Shows the OpenAPI document with Swagger UI. A key counts as authorized only after the service has accepted it.
"use strict";

const checkKey = (authorize) => async (authorized) => {
    for (const [authId, {value}] of Object.entries(authorized)) {
        ui.errActions.clear({authId, source: "auth"});
        let message = null;
        try {
            const server = ui.specSelectors.specJson().getIn(["servers", 0, "url"]);
            const response = await fetch(`${server}/pets?limit=0`, {headers: {"X-API-Key": value ?? ""}});
            // Any other error, such as an exceeded rate limit, says nothing about the key.
            if ([401, 403].includes(response.status)) message = (await response.json()).error.message;
        } catch (error) {
            message = error.message;
        }
        if (message) {
            ui.errActions.newAuthErr({authId, source: "auth", level: "Not authorized", message});
            return;
        }
    }
    authorize(authorized);
};

// Opening an operation puts its link into the address bar. A link inside the button that opens it would be one control
// inside another.
const nameOnly = ({text}) => text;

const ui = SwaggerUIBundle({
    url: document.getElementById("swagger-ui").dataset.document,
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [{components: {DeepLink: nameOnly}, statePlugins: {auth: {wrapActions: {authorize: checkKey}}}}],
    layout: "BaseLayout",
    deepLinking: true,
    displayOperationId: true,
});
