"""Models: embedders, and the cache of their vectors."""

from .cache import Cached, VectorCache
from .embedder import Embedder, open_embedder

__all__ = ["Cached", "Embedder", "VectorCache", "open_embedder"]
