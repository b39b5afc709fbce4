"""Indexes on tables that belong to Django, which no model of ours can name."""
