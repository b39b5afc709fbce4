"""The Django project: the modules that Django looks for by name, and a folder for each part of the service."""

# The version of the program, of the API and of its OpenAPI document.
__version__ = "1.0.0"
