import hashlib
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyHeader
from models import APIKey, Pet, Session
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.exceptions import HTTPException as StarletteHTTPException

CODES = {400: "bad_request", 401: "unauthorized", 404: "not_found"}


async def get_session():
    async with Session() as session:
        yield session


SessionDep = Annotated[AsyncSession, Depends(get_session)]
key_header = APIKeyHeader(name="X-API-Key", auto_error=False)


async def require_key(session: SessionDep, key: Annotated[str | None, Security(key_header)]) -> None:
    if key:
        digest = hashlib.sha256(key.encode()).hexdigest()
        found = await session.scalar(select(APIKey).where(APIKey.digest == digest, APIKey.revoked_at.is_(None)))
        if found is not None:
            return
    raise HTTPException(401, "A valid API key is required.")


class PetIn(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    tag: str | None = None


class PetOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    tag: str | None = None


class Inventory(BaseModel):
    available: int = 0
    pending: int = 0
    sold: int = 0


app = FastAPI(title="Pets")
router = APIRouter(prefix="/v1", dependencies=[Depends(require_key)])


@router.get("/pets", response_model=list[PetOut], response_model_exclude_none=True)
async def list_pets(session: SessionDep, limit: Annotated[int, Query(ge=0)] = 100):
    return (await session.scalars(select(Pet).order_by(Pet.id).limit(min(limit, 1000)))).all()


@router.post("/pets", response_model=PetOut, response_model_exclude_none=True, status_code=201)
async def create_pet(session: SessionDep, body: PetIn):
    pet = Pet(name=body.name, tag=body.tag)
    session.add(pet)
    await session.commit()
    return pet


@router.get("/pets/{pet_id}", response_model=PetOut, response_model_exclude_none=True)
async def get_pet(session: SessionDep, pet_id: str):
    pet = await session.get(Pet, pet_id)
    if pet is None:
        raise HTTPException(404, "There is no such pet.")
    return pet


@router.get("/store/inventory", response_model=Inventory)
async def inventory(session: SessionDep):
    counts = (await session.execute(select(Pet.status, func.count()).group_by(Pet.status))).all()
    return Inventory(**dict(map(tuple, counts)))


@app.get("/v1/health")
async def health():
    return {"status": "ok"}


app.include_router(router)


@app.exception_handler(RequestValidationError)
async def on_validation_error(request, error):
    return JSONResponse({"error": {"code": "bad_request", "message": str(error)}}, 400)


@app.exception_handler(StarletteHTTPException)
async def on_http_error(request, error):
    code = CODES.get(error.status_code, "error")
    return JSONResponse({"error": {"code": code, "message": str(error.detail)}}, error.status_code)
