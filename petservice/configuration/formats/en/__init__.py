"""The formats for English, the language of the pages."""
