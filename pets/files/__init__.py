"""Files of pets: read in any format, given the columns of pets, checked, compared with the database, and written.

A file passes through `reading`, the reader of its format (`csv_rows`, `workbook` or `json_pets`), and `rows`; a table
also through `table_columns`. Then `import_diff` previews and applies an upload of staff, and the command `import_pets`
inserts the pets.
"""
