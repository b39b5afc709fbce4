"""Which pets a page shows: the lists with their columns, filters and orders, and the export of a list."""
