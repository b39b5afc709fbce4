"""Parts of every export: the file that a command writes, and texts that a spreadsheet would run as formulas."""
