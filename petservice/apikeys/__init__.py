"""API keys: authentication, permissions, request limits, and the admin pages where staff manage keys."""
