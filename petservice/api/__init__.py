"""HTTP and JSON for any app: errors, responses, parsers, pagination, health and pieces of the OpenAPI document."""
