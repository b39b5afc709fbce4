"""What staff do to pets: forms, actions on many pets, deletions and imports."""
