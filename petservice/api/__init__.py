"""HTTP and JSON for any app: errors, responses, parsers, pagination and pieces of the OpenAPI document."""
