"""The formats of dates and times on all pages, which Django finds by language."""
