from pets.models.change_set import ChangedPet, ChangeSet
from pets.models.idempotency_record import IdempotencyRecord
from pets.models.imported_file import ImportedFile
from pets.models.pet import Pet
from pets.models.saved_filter import SavedFilter
from pets.models.search_term import SearchTerm, UnindexedPet
from pets.models.trashed_pet import TrashedPet
from pets.models.upload import Upload

__all__ = [
    "ChangeSet",
    "ChangedPet",
    "IdempotencyRecord",
    "ImportedFile",
    "Pet",
    "SavedFilter",
    "SearchTerm",
    "TrashedPet",
    "UnindexedPet",
    "Upload",
]
