"""Pet records: the API's operations, the admin's pages, and files to import and export."""
