"""Staff accounts: their roles, their pages in the admin, the links that set a password, and the end of sessions."""
