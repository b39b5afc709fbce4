"""Parts that the admin pages of several apps share: forms, lists, CSV files and error pages."""
