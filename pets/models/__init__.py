from pets.models.idempotency_record import IdempotencyRecord
from pets.models.pet import Pet

__all__ = ["IdempotencyRecord", "Pet"]
