"""Small languages inside shell words: ``sed`` and ``awk``. Only what surely just prints is let through."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["awk_effect", "sed_is_harmless"]


def _until(delimiter: str) -> str:
    r"""Match text up to a delimiter that is the end in every ``sed``: none may stand in brackets or behind a \\."""
    bracket = rf"\[\^?\]?(?:\[:\w+:\]|[^\]{delimiter}\n\\\[])*\]"
    return rf"(?:[^{delimiter}\\\[\n]|\\[^\n{delimiter}]|{bracket})*"


_ADDRESS: Final = rf"(?:\d+|\$|/{_until('/')}/I?)"
_SUBSTITUTE: Final = "|".join(
    rf"s{d}{_until(d)}{d}(?:[^{d}\\\n]|\\[^\n{d}])*{d}[gpiI\d]*" for d in ("/", r"\|", "#", ",", "@")
)
_COMMAND: Final = rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?)?\s*!?\s*(?:[pdqPDNnGgHhx=]|{_SUBSTITUTE})"
_SED: Final = re.compile(rf"\s*{_COMMAND}(?:\s*;\s*{_COMMAND})*\s*;?\s*")
_LONGEST: Final = 300


def sed_is_harmless(script: str) -> bool:
    """Whether a ``sed`` script only prints, skips and substitutes."""
    return len(script) <= _LONGEST and _SED.fullmatch(script) is not None


_AWK_RUNS: Final = re.compile(r"system|getline|@|\bclose\b|\bload\b|(?<!\|)\|(?!\|)|/inet|fflush|extension")


def awk_effect(program: str) -> str | None:
    """Say what an ``awk`` program does beyond printing; ``None`` when it only prints."""
    if _AWK_RUNS.search(program) or "|||" in program:
        return "runs commands"
    if "ARGV" in program or "ARGC" in program:
        return "reads files it names itself"
    if "ENVIRON" in program or "PROCINFO" in program or "SYMTAB" in program:
        return "shows variables of the environment"
    if ">" not in program or "print" not in program:
        return None
    bare = re.sub(r'"(?:\\.|[^"\\\n])*"', "", program)
    if "/" in bare or '"' in bare:
        return "may write files"
    former = ""
    while former != bare:
        former, bare = bare, re.sub(r"\([^()]*\)", "", bare)
    inside = re.findall(r"\{([^{}]*)\}", bare)
    nested = bare.count("{") != len(inside) or bare.count("}") != len(inside)
    return "may write files" if nested or any(">" in each for each in inside) else None
