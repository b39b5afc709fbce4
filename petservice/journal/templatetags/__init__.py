"""Template tags of the audit."""
