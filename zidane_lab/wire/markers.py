"""The exact texts of calls that did not run to their end.

Each says one cause, so that the model (and whoever reads a transcript) can tell them apart. They are part
of the stored format: never reword them.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CANCELLED", "CASCADED", "INTERRUPTED", "MARKERS", "SUPERSEDED"]

INTERRUPTED: Final = "[Request interrupted by user for tool use]"
"""The person stopped the run while the call was running or waiting."""

SUPERSEDED: Final = "[Tool use skipped — superseded by user message]"
"""A steering message arrived before the call had started."""

CANCELLED: Final = "[Tool call cancelled by user]"
"""The person cancelled this one call; the rest of the batch went on."""

CASCADED: Final = "Cancelled: a sibling `shell` call in the same batch errored; re-run independently if still needed."
"""Another call of the batch, whose failure makes its siblings pointless, failed."""

MARKERS: Final = frozenset({INTERRUPTED, SUPERSEDED, CANCELLED, CASCADED})
