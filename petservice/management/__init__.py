"""Commands of the service as a whole: `serve` and `backup_database`."""
