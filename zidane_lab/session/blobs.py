"""Pictures and other binary contents, kept once each in ``blobs/<sha256>`` instead of in the lines.

Taken out of a line are the data of image, document, audio and video blocks, and long texts under a binary
mime type (``image/png`` of a mime bundle, say) anywhere in it. A reference takes their place::

    {"$blob": "<sha256>", "size": 12345, "encoding": "base64"}

``encoding`` says how the bytes become the text that was there: ``base64``, or ``text`` (UTF-8) for what is
not plain base64. Data that looks like a reference by itself is wrapped in ``{"$literal": …}``, so reading
gives back exactly what was written.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from zidane_lab.session.layout import make_own_folder, sync_folder

__all__ = ["LONG_TEXT", "BlobStore", "holds_references", "restore", "take_out"]

LONG_TEXT: Final = 1_024
"""Characters from which text under a binary mime type is taken out of the line."""

_MEDIA: Final = frozenset({"image", "document", "audio", "video"})
_MIME: Final = re.compile(r"(?:image|audio|video|application)/[\w.+-]+")
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_BLOB: Final = "$blob"
_LITERAL: Final = "$literal"


class BlobStore:
    """Contents by their sha256, in one folder that is made when first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Store ``data``, durably, and return its sha256; what is there already is not written again.

        Raises
        ------
        OSError
            It could not be written; nothing half-written stays under the name.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self._folder / digest
        if self._holds(path, data):
            return digest
        make_own_folder(self._folder.parent, self._folder.name)
        draft = self._folder / f".{digest[:16]}-{secrets.token_hex(4)}"
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(self._folder)
        return digest

    def get(self, digest: str) -> bytes | None:
        """Return the content; ``None`` if it is missing, unreadable or not what its name says."""
        if _SHA256.fullmatch(digest) is None:
            return None
        try:
            data = (self._folder / digest).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    @staticmethod
    def _holds(path: Path, data: bytes) -> bool:
        """Whether the content is there, whole: a damaged one is written anew."""
        try:
            return path.stat().st_size == len(data) and path.read_bytes() == data
        except OSError:
            return False


# --- writing --------------------------------------------------------------------------------------


def take_out(value: Any, put: Callable[[bytes], str], *, deepest: int = 100) -> Any:
    """Return ``value`` with binary contents replaced by references; parts without any stay the same objects.

    Raises
    ------
    RecursionError
        It is nested deeper than ``deepest`` levels, or contains itself.
    """
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if deepest == 0:
        raise RecursionError
    if not isinstance(value, Mapping):
        items = [take_out(item, put, deepest=deepest - 1) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    kind = value.get("kind")
    media = isinstance(kind, str) and kind in _MEDIA
    out = {}
    for key, item in value.items():
        if isinstance(item, str) and ((media and key == "data") or _is_binary(key, item)):
            out[key] = _reference(item, put)
        else:
            out[key] = take_out(item, put, deepest=deepest - 1)
    if _BLOB in value or _LITERAL in value:
        return {_LITERAL: out}
    return value if all(out[key] is value[key] for key in out) else out


def _is_binary(key: Any, text: str) -> bool:
    return len(text) >= LONG_TEXT and isinstance(key, str) and _MIME.fullmatch(key) is not None


def _reference(text: str, put: Callable[[bytes], str]) -> dict[str, Any]:
    try:
        data = base64.b64decode(text, validate=True)
        encoding = "base64" if base64.b64encode(data).decode("ascii") == text else "text"
    except (binascii.Error, ValueError):
        encoding = "text"
    if encoding == "text":
        data = text.encode("utf-8", "surrogatepass")
    return {_BLOB: put(data), "size": len(data), "encoding": encoding}


# --- reading --------------------------------------------------------------------------------------


def holds_references(line: bytes) -> bool:
    """Whether a line may hold something to :func:`restore`; spares looking through all others."""
    return b'"$' in line and (b'"$blob"' in line or b'"$literal"' in line)


def restore(value: Any, get: Callable[[str], bytes | None]) -> Any:
    """Undo :func:`take_out`.

    A content that is missing costs no more than itself: its block becomes a text block, and any other
    place a text, saying which blob is missing.
    """
    if isinstance(value, list):
        return [restore(item, get) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and isinstance(value.get(_LITERAL), dict):
        return {key: restore(item, get) for key, item in value[_LITERAL].items()}
    if isinstance(digest := value.get(_BLOB), str):
        text = _content(digest, value, get)
        return _missing("content", digest, value) if text is None else text
    kind, data = value.get("kind"), value.get("data")
    if isinstance(kind, str) and kind in _MEDIA and isinstance(data, dict) and isinstance(data.get(_BLOB), str):
        text = _content(data[_BLOB], data, get)
        if text is None:
            return {"kind": "text", "text": _missing(kind, data[_BLOB], data)}
        return {**value, "data": text}
    return {key: restore(item, get) for key, item in value.items()}


def _content(digest: str, reference: Mapping[str, Any], get: Callable[[str], bytes | None]) -> str | None:
    data = get(digest)
    if data is None:
        return None
    if reference.get("encoding") == "text":
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
    return base64.b64encode(data).decode("ascii")


def _missing(what: str, digest: str, reference: Mapping[str, Any]) -> str:
    size = reference.get("size")
    bytes_ = f", {size:,} bytes" if isinstance(size, int) else ""
    return f"[{what} missing: blob {digest}{bytes_} is not in the session's folder, or is damaged]"
