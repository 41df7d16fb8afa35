"""The tab's page and its files, as `make web` builds them; where they were not built, a page that says so."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.exceptions import HTTPException

BUILT = Path(__file__).parent / "built"
_ICON = Path(__file__).parent / "icon.svg"
_FOREVER = {"cache-control": "private, max-age=31536000, immutable"}
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Lineage</title><h1>The lineage tab was not built</h1>
<p>This installation has no front end. A wheel has one; from a clone, install Node.js 20 or newer and run <code>make web</code>.
The API below <code>api/v1</code>, the command <code>airflow-lineage</code> and Python work without it.</p></html>"""

LOGIN_SCRIPT = (
    "sessionStorage.setItem('lineage tab',JSON.stringify([location.search,location.hash]));"
    "location.replace(document.querySelector('a').href)"
)
"""No server is sent what stands behind the # of an address, and the way through the login loses it: the page of the tab finds it again."""
_LOGIN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Lineage</title>
<p><a href="{address}">Log in</a> to see it.</p><script>{script}</script></html>"""

router = APIRouter(include_in_schema=False)


async def _user(request: Request, bearer: Annotated[Any, Depends(bearer_scheme)]) -> Any:
    """Who asks; None for nobody."""
    try:
        return await get_user(request, None, bearer)
    except HTTPException:
        return None


@router.get("/tab")
async def tab(request: Request, user: Annotated[Any, Depends(_user)]) -> Response:
    """The page of the tab; who is not logged in, and opens it alone, is asked to, and comes back to what they have opened."""
    if user is None:
        base = request.scope.get("root_path", "").removesuffix("/lineage")
        asked = f"{base}/lineage/tab?{request.url.query}"
        return HTMLResponse(_LOGIN.format(address=escape(f"{base}/api/v2/auth/login?next={quote(asked)}"), script=LOGIN_SCRIPT))
    index = BUILT / "index.html"
    return FileResponse(index, media_type="text/html") if index.is_file() else HTMLResponse(_NOT_BUILT, status_code=503)


@router.get("/assets/{name}", dependencies=[Depends(get_user)])
async def asset(name: str) -> Response:
    """A built script or style, whose name has its content's hash."""
    found = BUILT / "assets" / name
    if found.parent != BUILT / "assets" or not found.is_file():
        raise HTTPException(404, "there is no such file")
    return FileResponse(found, headers=_FOREVER)


@router.get("/icon.svg")
async def icon() -> Response:
    """The tab's icon, which Airflow's UI shows: the same for everybody."""
    return FileResponse(_ICON, media_type="image/svg+xml")
