"""The commands `serve`, `migrate` and `doctor`."""
