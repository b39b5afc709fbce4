"""What happens to machines, done to a running service: processes killed, disks full, clients slow and hostile."""
