"""Which credentials are recognised by how they look."""

from __future__ import annotations


def kinds() -> str:
    """Return the formats that are known, by name."""
    from zidane_lab.secrets.patterns import KINDS

    return ", ".join(f"`{name}`" for name in sorted({kind.name for kind in KINDS}))
