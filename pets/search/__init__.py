"""What finds pets: the words of names and tags, tags in any spelling, and texts in any case."""
