"""The usual requests of the API, each answered with one SQL statement; all others go to Django unchanged.

Without this package the service is slower and otherwise the same. Only petservice.server knows it.
"""
