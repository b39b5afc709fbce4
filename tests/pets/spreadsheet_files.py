"""Files of pets as spreadsheets, editors and scripts write them, with the names and tags that people see in them."""

from pets.files.rows import COLUMNS

# The line, the name and the tag of each pet.
Pets = list[tuple[int, str, str | None]]

MORDKA: Pets = [(2, "Mordka", "cat")]
BOTH: Pets = [*MORDKA, (3, "Misio", "dog")]

READ: dict[str, tuple[str, Pets]] = {
    # Columns without a name and without text.
    "empty columns at the end": ("name,tag,,\r\nMordka,cat,,\r\nMisio,dog,,\r\n", BOTH),
    "an empty column that some rows leave out": ("name,tag,\r\nMordka,cat,\r\nMisio,dog\r\n", BOTH),
    "empty cells in the rows only": ("name,tag\r\nMordka,cat,\r\nMisio,dog,,\r\n", BOTH),
    # Rows without text, such as those that spreadsheets write at the end.
    "a row of blanks": ("name,tag\r\nMordka,cat\r\n \u00a0,\t\r\n", MORDKA),
    "a row with a line break only": ('name,tag\r\n"\r\n",\r\nMisio,dog\r\n', [(4, "Misio", "dog")]),
    "empty rows before the header": (';\r\n" ";\r\nname;tag\r\nMordka;cat\r\n', [(4, "Mordka", "cat")]),
    "the mark of DOS for the end": ("name,tag\r\nMordka,cat\r\n\x1a", MORDKA),
    # Line breaks within cells.
    "a header with line breaks": ('status;"\nname";"tag\n"\r\nsold;Mordka;cat\r\n', [(4, "Mordka", "cat")]),
    # A line that names the separator for a spreadsheet.
    "sep=, after a byte order mark": ("\ufeffsep=,\r\nname,tag\r\nMordka,cat\r\n", [(3, "Mordka", "cat")]),
    "sep=; and many empty rows": ("sep=;\r\n" + ";\r\n" * 30 + "name;tag\r\nMordka;cat\r\n", [(33, "Mordka", "cat")]),
    "sep=; in quotes": ('"sep=;"\r\n"name";"tag"\r\n"Mordka";"cat"\r\n', [(3, "Mordka", "cat")]),
    "sep= and a tab": ("SEP=\t\nname\ttag\nMordka\tcat\n", [(3, "Mordka", "cat")]),
    "sep=, saved with empty cells": ("sep=,,\r\nname,tag\r\nMordka,cat\r\n", [(3, "Mordka", "cat")]),
    "vertical bars": ("name|tag\nMordka|cat\n", MORDKA),
    "sep=; for one column": ("sep=;\nname\nMordka, the cat\n", [(3, "Mordka, the cat", None)]),
    # Invisible characters.
    "two byte order marks and quotes": ('\ufeff\ufeff"name","tag"\r\nMordka,cat\r\n', MORDKA),
    "a space without a width": ("\u200bname,tag\u200b\r\nMordka,cat\r\n", MORDKA),
    # Blanks after the separator, in the header as in the rows.
    "blanks after the separator": ("name, tag\nMordka, cat\nMisio,dog\n", BOTH),
    "blanks before quotes": ('name, tag\r\n"Mordka", "cat"\r\n"Misio",  "dog"\r\n', BOTH),
    "blanks and quotes as an export writes them": (
        'name,tag\r\n" ""Mordka""","a, """\r\n"the, ","x\r\n ""y"" z"\r\n',
        [(2, ' "Mordka"', 'a, "'), (3, "the, ", 'x\r\n "y" z')],
    ),
}

NO_NAME = "column 3 has no name: write one above it, or empty the column."
SHAPE = 'the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.'
ENDS = "not JSON (unexpected end of data at character "

# The file, the extension of its name, and its errors with their lines.
REJECTED: dict[str, tuple[str, str, list[tuple[int, str]]]] = {
    "text in a column without a name": ("name,tag,,\nMordka,cat,3,\nMisio,dog,,\n", "csv", [(2, NO_NAME)]),
    "text with another separator": (
        "sep=|\nname|tag\nMordka|cat|3\n",
        "csv",
        [(3, "3 cells instead of 2: text with a vertical bar in it must be in quotes.")],
    ),
    "a blank before a quote": (
        'name,tag\n"Mordka","cat"\n"Misio, old", "dog"\n',
        "csv",
        [(3, "there is a blank before a quote: remove the blank.")],
    ),
    "a blank before the first quote": ('name,tag\n "Mordka",cat\n', "csv", [(2, "there is a blank before a quote")]),
    "very many columns": ("," * 1000 + "name\n", "csv", [(1, "more than 60 columns: delete all but")]),
    "a line that is too long": ("name,tag\n," + "x,y" * 400_000, "csv", [(2, "longer than 1,048,576 characters.")]),
    "a list in an object on one line": (
        '{"pets": [{"name": "Shadow"}]}',
        "json",
        [(1, f"unknown 'pets': there are only {', '.join(COLUMNS)}; {SHAPE}")],
    ),
    "a pet on several lines": ('{\n  "name": "Shadow",\n  "tag": "dog"\n}\n', "json", [(1, f"{ENDS}2): {SHAPE}")]),
    "a pet that continues on the next line": (
        '{"name": "Rex"}\n{"name": "狗",\n"tag": "dog"}\n{"name": "Tom"}\n',
        "jsonl",
        [(2, f"{ENDS}14): {SHAPE}")],
    ),
}
