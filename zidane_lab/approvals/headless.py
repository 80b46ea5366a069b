"""Runs without a person: what they may do is declared beforehand, whole or not at all, and every decision is kept.

A declaration names who answers for the run, how much it may spend (or says plainly that there is no limit), how far its
calls may go, and which calls are allowed. One that leaves something out is refused. Whatever is not declared is a no.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from zidane_lab.approvals.decisions import Answer, Question
from zidane_lab.approvals.modes import Reach
from zidane_lab.approvals.safelist import covers, parse_entry
from zidane_lab.errors import ConfigurationError

__all__ = ["Audit", "Declaration", "Unattended", "read_declaration", "verify_audit"]

_BUDGET: Final = frozenset({"tokens", "tool_calls", "seconds", "usd"})
_PARTS: Final = ("actor", "budget", "scopes", "allow")
_HINT: Final = (
    'Give actor, budget (tokens, tool_calls, seconds and usd, or "unbounded"), scopes and allow; allow may be empty.'
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an unattended run may do.

    Parameters
    ----------
    actor
        Who answers for it.
    budget
        Limits by name, or ``"unbounded"``.
    scopes
        How far allowed calls may go (:data:`zidane_lab.approvals.modes.Reach`).
    allow
        Entries of the safelist's shapes.
    """

    actor: str
    budget: Mapping[str, float] | Literal["unbounded"]
    scopes: frozenset[str]
    allow: tuple[str, ...]


def read_declaration(raw: Mapping[str, Any]) -> Declaration:
    """Read a declaration.

    Raises
    ------
    ConfigurationError
        Something is missing, unknown or no sense can be made of it.
    """
    problem = _problem(raw)
    if problem is not None:
        raise ConfigurationError(f"The declaration of an unattended run is refused: {problem}.", hint=_HINT)
    budget = raw["budget"]
    return Declaration(
        raw["actor"].strip(),
        "unbounded" if budget == "unbounded" else {name: float(amount) for name, amount in budget.items()},
        frozenset(raw["scopes"]),
        tuple(raw["allow"]),
    )


def _problem(raw: Mapping[str, Any]) -> str | None:
    missing = [part for part in _PARTS if part not in raw]
    unknown = sorted(raw.keys() - set(_PARTS))
    if missing or unknown:
        return f"{', '.join(missing)} left out" if missing else f"{', '.join(map(str, unknown))} is not known"
    if not isinstance(raw["actor"], str) or not raw["actor"].strip():
        return "the actor is not named"
    budget = raw["budget"]
    if budget != "unbounded" and not (isinstance(budget, Mapping) and set(budget) == _BUDGET and _positive(budget)):
        return "the budget is not whole"
    for part in ("scopes", "allow"):
        if not isinstance(raw[part], (list, tuple, frozenset, set)) or not all(isinstance(x, str) for x in raw[part]):
            return f"{part} is not a list of texts"
    odd = [each for each in raw["scopes"] if each not in get_args(Reach)]
    odd += [each for each in raw["allow"] if parse_entry(each) is None]
    return f"{odd[0]!r} is not understood" if odd else None


def _positive(budget: Mapping[str, Any]) -> bool:
    return all(
        isinstance(amount, (int, float)) and not isinstance(amount, bool) and 0 < amount < float("inf")
        for amount in budget.values()
    )


@dataclass(slots=True)
class Audit:
    """Decisions in order, each chained to the one before; nothing is changed or taken out.

    What was asked about is kept as a digest, because commands and code may hold what must not be logged. ``write`` is
    told each record.
    """

    write: Callable[[Mapping[str, Any]], None] | None = None
    _records: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, **told: Any) -> None:
        """Append a record."""
        before = self._records[-1]["chain"] if self._records else ""
        record = {"number": len(self._records) + 1, **told}
        record["chain"] = _chained(before, record)
        self._records.append(record)
        if self.write is not None:
            self.write(record)

    def since(self, number: int = 0) -> tuple[Mapping[str, Any], ...]:
        """Return the records after one."""
        return tuple(self._records[max(number, 0) :])


def verify_audit(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether records, from the first on, are as they were written: none changed, left out or put in between."""
    before = ""
    for number, record in enumerate(records, 1):
        bare = {key: value for key, value in record.items() if key != "chain"}
        if record.get("number") != number or record.get("chain") != _chained(before, bare):
            return False
        before = str(record["chain"])
    return True


def _chained(before: str, record: Mapping[str, Any]) -> str:
    text = json.dumps(record, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Unattended:
    """An :data:`~zidane_lab.approvals.decisions.Ask` that answers by a declaration, and never waits."""

    declaration: Declaration
    audit: Audit = field(default_factory=Audit)

    async def __call__(self, question: Question) -> Answer:
        """Say yes to what is declared, once; no to everything else."""
        why = self._objection(question)
        self.audit.add(
            actor=self.declaration.actor,
            tool=question.tool,
            reach=question.reach,
            entries=list(question.remember),
            digest=hashlib.sha256(question.target.encode("utf-8", "surrogatepass")).hexdigest(),
            decision="deny" if why else "once",
        )
        return Answer("deny", why) if why else Answer("once")

    def _objection(self, question: Question) -> str:
        if question.reach not in self.declaration.scopes:
            return f"this unattended run may not go as far as {question.reach}"
        entries = [entry for entry in map(parse_entry, question.remember) if entry is not None]
        tool = entries[0].tool if entries else question.tool
        tokens = [entry.value for entry in entries if entry.kind == "token"]
        host = next((entry.value for entry in entries if entry.kind == "host"), "")
        if not entries or not covers(self.declaration.allow, tool, tokens, host=host):
            return "it is not among what was declared for this unattended run"
        return ""
