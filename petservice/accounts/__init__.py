"""Staff accounts: their roles, their pages in the admin, the actions on one, and the links that set a password."""
