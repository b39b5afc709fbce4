"""What all exports share: the file that a command writes, and texts that spreadsheets would run as formulas."""
