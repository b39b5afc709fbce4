"""Backup, restore, and the move of all data to another database."""
