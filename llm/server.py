"""How an OpenAI-compatible server is spoken to: address, key, and what is tried again."""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from ..io.errors import InputError, ModelError

TRIES = 4
EXCERPT_CHARS = 200


def api_key() -> str:
    """The key in the environment variable CUEGRAPH_API_KEY, or "" where there is none.

    ModelError, without the key, where it holds what no header can carry.
    """
    key = os.environ.get("CUEGRAPH_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelError("CUEGRAPH_API_KEY: expected printable ASCII, got other characters")
    return key


class Server:
    """Where a server is, and the key for it, which goes into a header and nowhere else.

    url   such as "http://127.0.0.1:8000/v1", without user, password, query string and fragment
    form  what the user was to write, for the InputError on another address
    """

    def __init__(self, url: str, form: str = "http://HOST:PORT/v1") -> None:
        self.url = _checked(url, form)
        self._key = api_key()
        self.headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def text(self, body: bytes) -> str:
        """What a server sent, as text without the key: it may quote the one it was given."""
        return self.without_key(body.decode("utf-8", "replace"))

    def excerpt(self, body: bytes) -> str:
        """The beginning of what a server sent, quoted, for a message."""
        return repr(self.text(body)[:EXCERPT_CHARS])

    def without_key(self, text: str) -> str:
        """The text, with "[key]" wherever the key stood."""
        return text.replace(self._key, "[key]") if self._key else text


def is_passing(status: int) -> bool:
    """Whether a status may be another one when asked again: 429 and 5xx."""
    return status == httpx.codes.TOO_MANY_REQUESTS or httpx.codes.is_server_error(status)


def asked_wait_s(headers: Mapping[str, str]) -> float:
    """The header Retry-After in seconds, of any length; 0.0 where it is absent or a date."""
    asked = headers.get("Retry-After", "")
    return float(asked) if asked.isascii() and asked.isdecimal() else 0.0


def _checked(url: str, form: str) -> str:
    # The URL stands in messages, so it must not hold a secret; nor is it shown while it may.
    try:
        parts, port = urlsplit(url), urlsplit(url).port
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        raise InputError(f"expected an endpoint like {form}, got one that is no URL") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise InputError(
            f"expected an endpoint like {form}, got one with a user, password or query string; "
            "a key belongs in CUEGRAPH_API_KEY"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.fragment:
        raise InputError(f"expected an endpoint like {form}, got {url!r}")
    return url.rstrip("/")
