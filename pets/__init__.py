"""Pets: the operations of the API, the pages of the admin, and files to import and export."""
