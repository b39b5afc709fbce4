"""Pets as CSV and JSON lines: read and checked, written, and merged with the database."""
