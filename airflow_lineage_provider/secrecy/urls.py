"""URLs as they may be told: what is known to be harmless of them, and ``***`` for the rest."""

from __future__ import annotations

import re
from urllib.parse import unquote

from airflow_lineage_provider.secrecy.known import CREDENTIALS, PLAIN_SCHEMES, URL_PROPERTIES, YES_OR_NO

HIDDEN = "***"
LONGEST = 8_000
"""The most characters of a URL that is taken apart."""
_SCHEME = re.compile(r"([A-Za-z][\w+.\-]*)://")
_USER = re.compile(r"[\w.\-~%+$]{1,128}")
_HOST = r"(?:[\w.\-~%]*|\[[\w:.%]*\])(?::\d{0,5})?"
_PLACE = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/[^\x00-\x1f]*)?")
_HARMLESS_VALUE = re.compile(r"[\w.\-/:,+%]{0,200}")
_DATABASE = re.compile(r"jdbc:[a-z0-9+\-]+(?::[a-z0-9+\-]+)*:[\w.\-/:,\[\]\\~%]*", re.IGNORECASE | re.ASCII)
_ORACLE = re.compile(r"(jdbc:oracle:\w+:)[^@]*@(//)?([\w.\-/:,\[\]]+)", re.IGNORECASE | re.ASCII)


def shown_url(url: str) -> str:
    """A URL with its host, port, path and user; passwords, tokens and what is not known to be harmless are ``***``."""
    if len(url) > LONGEST:
        return HIDDEN
    if url[:5].lower() == "jdbc:":
        kept, withheld = database_url(url)
        return kept + (f"?{HIDDEN}" if withheld else "") if kept else f"jdbc:{HIDDEN}"
    scheme = _SCHEME.match(url)
    if scheme is None:
        return HIDDEN
    if _is_plain(scheme, url):
        return url
    login, at, rest = _split_login(url[scheme.end() :])
    place, mark, query = re.match(r"([^?#]*)([?#]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
    shown = place if _PLACE.fullmatch(place) else HIDDEN
    return f"{scheme[0]}{_shown_login(login)}{at}{shown}{mark}{_shown_query(query)}"


def secrets_of(url: str) -> tuple[str, ...]:
    """The passwords and unknown properties of a URL, as they are written and as they are meant: what a log is told to mask.

    >>> secrets_of("postgresql://me:p%40ss@host/db?sslmode=require&sslpassword=s3cret")
    ('p%40ss', 'p@ss', 's3cret')
    """
    scheme = _SCHEME.match(url)
    if len(url) > LONGEST or scheme is None:
        return (url,)
    if _is_plain(scheme, url):
        return ()
    login, _, rest = _split_login(url[scheme.end() :])
    query, _, fragment = rest.partition("?")[2].partition("#")  # an output's table stands behind the #
    pieces = [*re.split("[&;]", query), *(piece for piece in re.split("[&;]", fragment) if "=" in piece)]
    found = [login.partition(":")[2], *filter(None, map(_withheld, pieces))]
    return tuple(dict.fromkeys(text for each in found for text in (each, unquote(each)) if text))


def _withheld(piece: str) -> str | None:
    """What of ``name=value`` in a URL is not told."""
    name, equals, value = piece.partition("=")
    return piece if not equals else None if is_harmless(name, value) else value


def _is_plain(scheme: re.Match[str], url: str) -> bool:
    """Whether a URL is a path, which is told as it is."""
    return scheme[1].lower() in PLAIN_SCHEMES and "@" not in re.split(r"[/?#]", url[scheme.end() :], maxsplit=1)[0]


def shown_place(text: str) -> str:
    """Where something is written to: a path or a table's name as it is, a URL as it may be told."""
    return shown_url(text) if _SCHEME.match(text) or text[:5].lower() == "jdbc:" else text


def _split_login(rest: str) -> tuple[str, str, str]:
    """Before the ``@`` and after it: the last one, as a password that is not encoded may have some."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority and "@" not in rest[len(authority) :]:
        login, at, host = authority.rpartition("@")
        return login, at, host + rest[len(authority) :]
    if rest.count("@") > 1 and ("@" in authority or ":" in rest):  # nobody knows where the password ends
        return rest, "@", "\0"
    if re.search(r":.*@", rest):
        return rest.rpartition("@")
    return "", "", rest


def _shown_login(login: str) -> str:
    user, colon, _ = login.partition(":")
    if not login:
        return ""
    shown = user if _USER.fullmatch(user) else HIDDEN if user else ""
    return f"{shown}:{HIDDEN}" if colon else shown


def _shown_query(query: str) -> str:
    return re.sub(r"([^&=;]+)(=?)([^&;]*)", lambda one: _shown_property(*one.groups()), query)


def _shown_property(name: str, equals: str, value: str) -> str:
    if not equals:
        return HIDDEN
    shown_name = name if re.fullmatch(r"[\w.\-]{1,64}", name) else HIDDEN
    return f"{shown_name}={value if is_harmless(name, value) else HIDDEN}"


def is_harmless(name: str, value: str) -> bool:
    """Whether a property of a URL may be told."""
    if name.lower() in CREDENTIALS:
        return False
    return value.lower() in YES_OR_NO or (name.lower() in URL_PROPERTIES and _HARMLESS_VALUE.fullmatch(value) is not None)


def database_url(url: str) -> tuple[str, dict[str, str]]:
    """A JDBC URL as it is recorded, and the properties that are withheld; user and password are in neither.

    The whole URL is withheld, under the name ``url``, where it is of no known form: passwords stand in many places there
    (``jdbc:oracle:thin:scott/tiger@…``, ``jdbc:mysql://address=(host=…)(password=…)/db``).
    """
    if len(url) > LONGEST:
        return "", {"url": url}
    base, properties = re.match(r"([^?;&]*)(.*)", url, re.DOTALL).groups()  # type: ignore[union-attr]
    if base.lower().startswith("jdbc:db2:"):  # jdbc:db2://host:50000/db:user=…;password=…;
        found = re.match(r"([^=]*):([^:=]+=.*)", url, re.DOTALL)
        base, properties = found.groups() if found else (base, properties)
    kept = _kept_base(base)
    if kept is None or "{" in properties:  # SQL Server's braces may hold separators
        return "", {"url": url}
    told, withheld = [], {}
    for piece in filter(None, re.split(r"[?&;]", properties)):
        name, equals, value = piece.partition("=")
        if equals and is_harmless(name, value):
            told.append(piece)
        elif not equals or name.lower() not in CREDENTIALS:
            withheld[name if equals else "a property without a name"] = value if equals else piece
    return _joined(kept, told), withheld


def _kept_base(base: str) -> str | None:
    """The part of a JDBC URL before its properties, without a login; None where its form is not known."""
    if base.lower().startswith("jdbc:oracle:"):
        found = _ORACLE.fullmatch(base)
        return f"{found[1]}@{found[2] or ''}{found[3]}" if found else None
    without = re.sub(r"//[^/@]*@", "//", base, count=1)
    return without if _DATABASE.fullmatch(without) else None


def _joined(base: str, properties: list[str]) -> str:
    if not properties:
        return base
    if base.lower().startswith(("jdbc:sqlserver:", "jdbc:h2:", "jdbc:derby:", "jdbc:databricks:", "jdbc:hive2:", "jdbc:spark:")):
        return ";".join([base, *properties])
    if base.lower().startswith("jdbc:db2:"):
        return f"{base}:{';'.join(properties)};"
    return f"{base}?{'&'.join(properties)}"


def odd_store_url(url: str) -> str | None:
    """What is wrong with the writing of a libpq URL, told without the URL; None where it reads in one way only.

    libpq takes a password with ``@`` or ``/`` apart and tells the pieces as a host that it does not find.
    """
    rest = url.partition("://")[2]
    if re.search(r"[\s\x00-\x1f\x7f]", url):
        return "it has a blank or a control character (a blank is written %20)"
    if re.search(r"%(?![0-9A-Fa-f]{2})", url):
        return "it has a % that two hexadecimal digits do not follow (a % itself is written %25)"
    if "\ufffd" in unquote(url, errors="replace"):
        return "what it writes with % is not UTF-8"
    if rest.count("@") > 1 or "#" in rest:
        return "it has a character that stands for something else: in a name or password @ is written %40, / %2F, # %23, ? %3F"
    if "@" in rest and re.search(r"[/?]", rest.partition("@")[0]):
        return "its name or password has a / or ?: write / as %2F and ? as %3F"
    return None
