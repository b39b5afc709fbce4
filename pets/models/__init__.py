from pets.models.idempotency_record import IdempotencyRecord as IdempotencyRecord
from pets.models.imported_file import ImportedFile as ImportedFile
from pets.models.pet import Pet as Pet
from pets.models.recent_change import RecentChange as RecentChange
from pets.models.saved_filter import SavedFilter as SavedFilter
from pets.models.trashed_pet import TrashedPet as TrashedPet
from pets.models.upload import Upload as Upload
