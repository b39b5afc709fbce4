"""Migrations that add indexes to Django's own tables, which have no model in this project."""
