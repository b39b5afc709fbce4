"""Logs, the access log, metrics, alerts and a dashboard for operators."""
