from pets.models.imports import ImportedFile as ImportedFile
from pets.models.imports import Upload as Upload
from pets.models.journal import RecentChange as RecentChange
from pets.models.journal import TrashedPet as TrashedPet
from pets.models.pet import IdempotencyRecord as IdempotencyRecord
from pets.models.pet import Pet as Pet
from pets.models.pet import SavedFilter as SavedFilter
