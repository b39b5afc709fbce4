"""The pages for client developers: the home page, the guides, the OpenAPI document and the page that shows it."""
