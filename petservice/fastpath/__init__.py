"""The usual requests of the API, answered by SQL without Django's views; all others go to Django unchanged.

Without this package the service is slower and otherwise the same. Only petservice.server imports it.
"""
