"""The inventory: statuses of pets, and how many pets have each."""
