"""Compress the cache of a transformers model, then read and write with it."""

from kvteach.engine.compress import Bytes, compress
from kvteach.engine.reading import Reading
from kvteach.engine.session import Compressed, restore

__all__ = ["Bytes", "Compressed", "Reading", "compress", "restore"]
