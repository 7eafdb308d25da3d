"""Embeddings from an OpenAI-compatible server."""

import time
import weakref
from collections.abc import Sequence
from typing import Any

import httpx
import msgspec
import numpy as np
import numpy.typing as npt

from ..io.errors import InputError, ModelError
from .backend import plain, unit_rows
from .server import TRIES, Server, asked_wait_s, is_passing

BATCH = 64
# Models that are served read up to 8,192 tokens: a longer text would be refused or cut there.
MAX_CHARS = 32_768
# A server may ask for any wait; a longer one than this is not worth a caller's time.
LONGEST_WAIT_S = 30.0
FORM = "http://HOST:PORT/v1#MODEL"


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Reply(msgspec.Struct):
    data: list[_Item]


class EndpointEmbedder:
    """`POST url/embeddings` of an OpenAI-compatible server, 64 texts a request.

    url         such as "http://127.0.0.1:8000/v1", without user, password and query string
    model       the name that the server knows the model by; it is this embedder's name too
    timeout_s   silence of the server that ends a try
    back_off_s  wait before the second try, doubled before each later one

    No connection, no answer in time and the statuses 429 and 5xx are tried 4 times in all, other
    statuses once. The key in CUEGRAPH_API_KEY goes into a header and nowhere else. Passages and
    queries are embedded alike; an empty text is sent as a space, since servers refuse empty ones.
    Whether a text's vector depends on its batch is the server's affair. ModelError where every try
    failed or the reply is not one finite vector of one dimension per text.
    """

    def __init__(
        self, url: str, model: str, *, timeout_s: float = 60.0, back_off_s: float = 0.5
    ) -> None:
        if not model:
            raise InputError(f"expected an endpoint like {FORM}, got one without a model")
        self._server = Server(url, FORM)
        self._url = self._server.url + "/embeddings"
        self._model = model
        self.name = f"endpoint:{model}"
        self._dimension: int | None = None
        self._back_off_s = back_off_s
        self._client = httpx.Client(timeout=timeout_s, headers=self._server.headers)
        # An embedder has no close(): its connections go when it does.
        weakref.finalize(self, self._client.close)

    @property
    def dimension(self) -> int:
        """Numbers in a vector, learned from a first call."""
        if self._dimension is None:
            self._dimension = len(self._request(["dimension"])[0].embedding)
        return self._dimension

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched, float32 (n, dimension)."""
        rows = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [plain(text, MAX_CHARS) or " " for text in texts[start : start + BATCH]]
            rows[start : start + len(batch)] = self._rows(batch)
        return rows

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search: the same as `passages`."""
        return self.passages(texts)

    def _rows(self, batch: list[str]) -> npt.NDArray[np.float32]:
        vectors = [item.embedding for item in self._request(batch)]
        lengths = {len(vector) for vector in vectors}
        if lengths != {self.dimension}:
            raise self._error(f"vectors of {self.dimension} numbers", f"lengths {sorted(lengths)}")
        return unit_rows(np.array(vectors), len(batch), self.dimension, self.name)

    def _request(self, batch: list[str]) -> list[_Item]:
        """One item per text, in the order of the texts."""
        body = self._post({"model": self._model, "input": batch})
        try:
            items = msgspec.json.decode(body, type=_Reply).data
        except msgspec.DecodeError as error:
            got = f"{error}: {self._server.excerpt(body)}"
            raise self._error("a JSON reply with data, index and embedding", got) from error
        items.sort(key=lambda item: item.index)
        indices = [item.index for item in items]
        if indices != list(range(len(batch))):
            got = f"{len(items)} with indices {indices[:3]}..."
            raise self._error(f"{len(batch)} vectors with indices 0 to {len(batch) - 1}", got)
        return items

    def _post(self, request: dict[str, Any]) -> bytes:
        """The body of the first reply with status 200."""
        got, wait_s = "", 0.0
        for i in range(TRIES):
            time.sleep(wait_s)
            wait_s = self._back_off_s * 2**i
            try:
                response = self._client.post(self._url, json=request)
            except httpx.RequestError as error:
                got = f"{type(error).__name__} ({error})"
                continue
            if response.status_code == httpx.codes.OK:
                return response.content
            got = f"status {response.status_code}: {self._server.excerpt(response.content)}"
            if not is_passing(response.status_code):
                raise self._error("status 200", got)
            wait_s = max(wait_s, min(asked_wait_s(response.headers), LONGEST_WAIT_S))
        raise self._error(f"status 200 within {TRIES} tries", f"in the last {got}")

    def _error(self, expected: str, got: str) -> ModelError:
        return ModelError(f"{self.name} at {self._url}: expected {expected}, got {got}")
