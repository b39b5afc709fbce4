from pets.models.idempotency_record import IdempotencyRecord
from pets.models.pet import Pet
from pets.models.upload import Upload

__all__ = ["IdempotencyRecord", "Pet", "Upload"]
