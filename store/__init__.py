"""The inventory: the statuses of pets, and the number of pets with each status."""
