"""The service compared with small servers that do the same work with other frameworks."""
