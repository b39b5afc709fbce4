"""Parts that the admin pages of several apps share: forms, lists, charts, CSV files and error pages."""
