"""The API's own description."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

router = APIRouter(tags=["description"])


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> dict[str, Any]:
    """OpenAPI, for those who are logged in."""
    found: dict[str, Any] = request.app.openapi()
    return found
