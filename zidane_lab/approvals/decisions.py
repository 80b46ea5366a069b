"""Answers to questions, and what is remembered of them while a session lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from zidane_lab.approvals.safelist import SHELL_TOOL, describe_entry, parse_entry

__all__ = ["Answer", "Ask", "Choice", "Grants", "Question", "as_answer", "first_answer", "printable", "read_answer"]

Choice: TypeAlias = Literal["once", "session", "always", "deny"]

_SHOWN_REASONS: Final = 20
_OWN: Final = frozenset({"budget", "bypass"})
"""What stands for a tool in questions about the run itself; their intent completes *wants to*."""


def _choices() -> tuple[Choice, ...]:
    return ("once", "deny")


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a call runs.

    Parameters
    ----------
    tool, intent
        What is to be used, and what for.
    target
        The code, the command, or the arguments, whole.
    reasons
        What in it needs permission.
    remember
        Entries that *session* and *always* would allow; empty where nothing can be remembered.
    diff
        What would change in a file, as a unified diff.
    choices
        The answers there are.
    hunks
        How many parts of the change can be allowed one by one; 0 where it is all or nothing.
    reach
        What the call does: ``read``, ``compute``, ``write``, ``network`` or ``execute``.
    """

    tool: str
    intent: str
    target: str
    reasons: tuple[str, ...] = ()
    remember: tuple[str, ...] = ()
    diff: str = ""
    choices: tuple[Choice, ...] = field(default_factory=_choices)
    hunks: int = 0
    reach: str = "execute"

    @property
    def text(self) -> str:
        """The question as plain text: the tool, what for, and each line that needs permission.

        The words come from a model: control characters, which could hide or repaint lines, are written out.
        """
        asked = f"wants to {self.intent}" if self.tool in _OWN else f"wants to use {self.tool}"
        lines = [f"zidane {asked}" + (f": {self.intent}" if self.intent and self.tool not in _OWN else "")]
        lines += (f"  - {reason}" for reason in self.reasons[:_SHOWN_REASONS])
        if len(self.reasons) > _SHOWN_REASONS:
            lines.append(f"  - and for {len(self.reasons) - _SHOWN_REASONS} more reasons")
        if self.tool != "run_python":
            lines += (f"    {line}" for line in self.target.splitlines())
        return "\n".join(map(printable, lines))

    @property
    def remember_text(self) -> str:
        """What *session* and *always* would allow, in words; empty where nothing can be remembered."""
        words = "; ".join(map(describe_entry, self.remember))
        if any(entry.startswith(f"{SHELL_TOOL}:") for entry in self.remember):
            words += " (still asked: what cannot be undone, secrets, other folders)"
        return printable(words)

    @property
    def prompt(self) -> str:
        """The line that asks, for a front end of text: ``Allow it? [y]es once, …``."""
        if self.choices == ("once", "deny"):
            return "Allow it? [y/N] "
        words = {"once": "[y]es once", "session": "this [s]ession", "always": "[a]lways here", "deny": "[N]o"}
        asked = ", ".join(words[choice] for choice in self.choices)
        return f"Session or always would allow: {self.remember_text}\nAllow it? {asked}: "


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person decided.

    Parameters
    ----------
    decision
        ``session`` and ``always`` also allow what the question's ``remember`` covers.
    reason
        Why not, in the person's words, for the model.
    hunks
        Which parts of a change are allowed; ``None`` for all. Parts that are not told are allowed.
    """

    decision: Choice
    reason: str = ""
    hunks: tuple[bool, ...] | None = None


Ask: TypeAlias = Callable[[Question], Awaitable[bool | Answer | None]]
"""Puts a question to a person; ``None`` when nobody can answer, ``True`` and ``False`` for *once* and *deny*."""


def as_answer(value: object, question: Question) -> Answer | None:
    """Read what an :data:`Ask` returned. Only a plain yes is one: what cannot be read is a no."""
    if value is None:
        return None
    if value is True:
        return Answer("once")
    if not isinstance(value, Answer):
        return Answer("deny")
    if not _is_well_formed(value.decision, value.reason, value.hunks):
        return Answer("deny")
    if value.decision in {"session", "always"} and value.decision not in question.choices:
        return Answer("once", value.reason, value.hunks)  # a yes, but not to more than was offered
    if value.hunks and not any(value.hunks) and len(value.hunks) >= question.hunks > 0:
        return Answer("deny", value.reason)
    return value


def _is_well_formed(decision: object, reason: object, hunks: object) -> bool:
    """Whether the parts of an answer are what they should be; front ends in other languages make them, too."""
    masks = hunks is None or (isinstance(hunks, tuple) and all(isinstance(each, bool) for each in hunks))
    return decision in get_args(Choice) and isinstance(reason, str) and masks


def read_answer(text: str, question: Question) -> Answer:
    """Read what a person typed at :attr:`Question.prompt`; ``n because it is huge`` tells a reason.

    Anything but one of the answers offered is a no.
    """
    word, _, rest = text.strip().partition(" ")
    named: dict[str, Choice] = {"y": "once", "yes": "once", "s": "session", "session": "session"}
    named |= {"a": "always", "always": "always"}
    choice = named.get(word.lower().rstrip(",:"))
    if choice is not None and choice in question.choices and not rest:
        return Answer(choice)
    said = rest if word.lower().rstrip(",:") in {"n", "no"} else text
    return Answer("deny", said.strip() if choice is None else "")


def first_answer(*asks: Ask) -> Ask:
    """Return an :data:`Ask` that puts a question to several in turn: the first that answers decides.

    One that fails ends it with a no. Extensions that answer for the person come first this way.
    """

    async def ask(question: Question) -> bool | Answer | None:
        for each in asks:
            answer = await each(question)
            if answer is not None:
                return answer
        return None

    return ask


@dataclass(slots=True)
class Grants:
    """What was allowed for a session: lives as long as it does, and no longer.

    ``bypass`` is whether the person confirmed the mode of that name for this session.
    """

    entries: list[str] = field(default_factory=list)
    bypass: bool = False

    def allow(self, entries: Iterable[str]) -> None:
        """Allow what entries cover; ones that cannot be read are left out."""
        self.entries[:] = dict.fromkeys([*self.entries, *filter(parse_entry, entries)])

    def revoke(self, entry: str) -> bool:
        """Take an entry back; ``False`` if there was none."""
        if entry not in self.entries:
            return False
        self.entries.remove(entry)
        return True


def printable(text: str) -> str:
    """Write out what could hide or repaint a line."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text.replace("\t", " "))
