"""Print tables in Markdown, each row as soon as it is measured."""


def print_row(*cells: object) -> None:
    """Print a row of a table at once."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_header(*names: str) -> None:
    """Print the header of a table, in which all columns but the first have numbers."""
    print()
    print_row(*names)
    print_row("---", *["---:"] * (len(names) - 1))
