"""The errors of cuegraph, all of them.

CuegraphError
├── InputError          what the caller gave cannot be used (also a ValueError)
├── StoreError          what lies on disk cannot be read or written
│   ├── StoreBusyError      another writer held the store for too long; try again
│   └── StoreMismatchError  the store is sound, but of another format, embedder or dimension
└── ModelError          a model or embedder could not be loaded or did not reply as it must

Every message says what was expected, what came, and where.
"""


class CuegraphError(Exception):
    """Base of all errors that cuegraph raises on purpose."""


class InputError(CuegraphError, ValueError):
    """What the caller gave cannot be used."""


class StoreError(CuegraphError):
    """What lies on disk cannot be read or written."""


class StoreBusyError(StoreError):
    """Another writer held the store longer than the caller would wait."""


class StoreMismatchError(StoreError):
    """The store was written in a newer format, or with another embedder or dimension."""


class ModelError(CuegraphError):
    """A model or embedder could not be loaded, or did not reply as it must."""
