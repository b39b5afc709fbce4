"""What clients and staff may write as text."""


def is_blank(text: str) -> bool:
    """Whether `text` has nothing but white space.

    Python and JSON Schema's patterns differ over a few characters: what either calls white space is.
    """
    return not text.replace("\ufeff", "").strip()
