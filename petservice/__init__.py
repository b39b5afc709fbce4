"""The Django project: the modules that Django looks for by name, and a folder for each part of the service."""
