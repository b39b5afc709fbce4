"""What happens to machines, done to a running service: processes killed, disks full, databases away, hostile clients."""
