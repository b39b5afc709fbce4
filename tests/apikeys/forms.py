"""The form of a new API key, as staff send it."""

FORM = {
    "name": "Acme",
    "environment": "test",
    "access": "write",
    "expires_at_0": "",
    "expires_at_1": "",
    "form_token": "6f1c0a5e-9b3d-4f7c-8a2e-1d0b9c8f7a6e",
}
