"""Keys of calls: texts that are equal when two calls ask for the same."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["stable_stringify"]

_EXACT: Final = 2**53
"""Up to here every whole number is a float of its own, so ``2.0`` may be written ``2``."""


def stable_stringify(value: object) -> str:
    """Write ``value`` as JSON that does not depend on the order of keys, at any depth.

    ``2.0`` is written as ``2`` and what is no number as ``null``, as other writers of JSON do; what JSON cannot hold
    stands as its ``repr``.
    """
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return repr(value)
