"""Parts that the admin pages of several apps share: forms, lists, charts, texts of changes, and error pages."""
