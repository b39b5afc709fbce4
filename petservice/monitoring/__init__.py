"""What operators read: log lines, the access log, metrics, alerts and a dashboard."""
