"""Put back what the work goes on with after a summary: files as they are now, skills, variables as they are now.

It takes the form of calls the model could have made: one assistant turn of calls and one user turn of their
results, both or none, so that every provider accepts them. What is put back is read anew: a summary tells what was
so, these tell what is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from zidane_lab.compaction.working_set import RecentFile, UsedVariable, select_recent_files
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import AbortedError, KernelLostError, SessionError, ToolInputError
from zidane_lab.kernel.execution import Executor
from zidane_lab.session.read_state import READ
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.turns import ResultPart, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.envelope import ENVELOPE, draw_tag
from zidane_lab.wire.tokens import UNITS_PER_TOKEN, estimate_block, estimate_tokens

__all__ = [
    "ActiveSkill",
    "ExtraCall",
    "FileReader",
    "PostCompactAttachments",
    "PostCompactRestoreOptions",
    "append_attachments",
    "build_post_compact_attachments",
]

_CHARACTERS: Final = 200
"""Least characters a variable is described in."""

FileReader: TypeAlias = Callable[[RecentFile], Awaitable[ToolOutput]]
"""Reads a file as the ``read_file`` tool would; what it raises skips the file."""


@dataclass(frozen=True, slots=True)
class ActiveSkill:
    """A skill in force, and its instructions."""

    name: str
    instructions: str


@dataclass(frozen=True, slots=True)
class ExtraCall:
    """Something else to put back, as a call and its result; it is not budgeted, so keep it small."""

    tool: str
    input: Mapping[str, Any]
    parts: tuple[ResultPart, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PostCompactRestoreOptions:
    """What to put back, and how much of it. Budgets are in (estimated) tokens.

    Parameters
    ----------
    key
        Different for each compaction of a session (the number of summaries so far, say): it is part of the ids of the
        calls. Letters, digits, ``_`` and ``-``; left out, the ids are plain.
    run_id
        The run the turns belong to.
    place
        Where the files are, if not on this machine.
    recent_files
        Files to choose from (:func:`~zidane_lab.compaction.working_set.select_files_from_session`).
    exclude_paths
        Files that the kept end of the conversation shows.
    allow
        Asked about each path; a file it refuses is skipped (one that commonly holds secrets, say).
    read_file
        Reads a file; default: the tool of that name, relative to ``cwd``.
    active_skills
        Skills in force, the most important first.
    executor
        Describes variables; without one none are put back.
    variables
        Variables to choose from, the last used first (:func:`~zidane_lab.compaction.working_set.used_variables`).
    extra_calls
        What else, in order, after the rest.
    """

    key: str = ""
    run_id: str | None = None
    cwd: Path = field(default_factory=Path.cwd)
    place: ExecutionContext | None = None
    recent_files: Sequence[RecentFile] = ()
    exclude_paths: Sequence[str] = ()
    allow: Callable[[str], bool] = lambda _path: True
    read_file: FileReader | None = None
    max_files_to_restore: int = 5
    file_token_budget: int = 50_000
    file_token_per_file_cap: int = 5_000
    active_skills: Sequence[ActiveSkill] = ()
    skill_token_budget: int = 25_000
    skill_token_per_skill_cap: int = 5_000
    executor: Executor | None = None
    variables: Sequence[UsedVariable] = ()
    max_variables_to_restore: int = 20
    variable_token_budget: int = 5_000
    variable_token_per_variable_cap: int = 500
    extra_calls: Sequence[ExtraCall] = ()
    read_file_tool_name: str = "read_file"
    skills_use_tool_name: str = "skills_use"
    inspect_variable_tool_name: str = "inspect_variable"


@dataclass(frozen=True, slots=True)
class PostCompactAttachments:
    """What is put back: two turns, or none.

    Parameters
    ----------
    turns
        The calls (role assistant) and their results (role user).
    files, skills, variables
        What they show: paths, names, names.
    missing
        Variables the conversation had that are gone; the turns say so.
    estimated_tokens
        About how many tokens the results take.
    """

    turns: tuple[Turn, ...] = ()
    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    estimated_tokens: int = 0

    @property
    def restored_files(self) -> int:
        """How many files."""
        return len(self.files)

    @property
    def restored_skills(self) -> int:
        """How many skills."""
        return len(self.skills)

    @property
    def restored_variables(self) -> int:
        """How many variables."""
        return len(self.variables)


class Appends(Protocol):
    """A session, as far as turns are added to it."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation."""
        ...

    def append(self, turn: Turn) -> Turn:
        """Add a turn and return it as stored."""
        ...


@dataclass(frozen=True, slots=True)
class _Item:
    """One call with its result; ``name`` is what a person knows it by."""

    kind: str
    name: str
    call: ToolCallBlock
    result: ToolResultBlock

    @classmethod
    def of(
        cls,
        kind: str,
        name: str,
        tool: str,
        arguments: Mapping[str, Any],
        parts: tuple[ResultPart, ...],
        *,
        is_error: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> _Item:
        result = ToolResultBlock("", parts, is_error, dict(metadata or {}))
        return cls(kind, name, ToolCallBlock("", tool, dict(arguments)), result)

    @property
    def tokens(self) -> int:
        return estimate_block(self.result)


async def build_post_compact_attachments(options: PostCompactRestoreOptions) -> PostCompactAttachments:
    """Read what is to be put back and return the turns to append behind the summary; see the options.

    A file or variable that cannot be had is skipped; what does not fit any more makes room for something smaller.

    Raises
    ------
    AbortedError
        The run was stopped meanwhile; nothing is put back.
    """
    files = await _files(options)
    skills = _skills(options)
    variables, missing = await _variables(options)
    extra = [
        _Item.of("extra", each.tool, each.tool, each.input, each.parts, metadata=each.metadata)
        for each in options.extra_calls
    ]
    gone = [_gone(missing, options)] if missing else []
    items = [*files, *skills, *variables, *gone, *extra]
    return PostCompactAttachments(
        turns=_turns(items, options),
        files=tuple(item.name for item in files),
        skills=tuple(item.name for item in skills),
        variables=tuple(item.name for item in variables),
        missing=missing,
        estimated_tokens=sum(item.tokens for item in items),
    )


def append_attachments(session: Appends, attachments: PostCompactAttachments) -> tuple[Turn, ...]:
    """Append the turns to a session and return them as stored.

    The session gives calls new ids where theirs were used before; the results follow. When the disk fails at the
    first turn the second is added all the same, so that the conversation in memory stays whole.

    Raises
    ------
    SessionError
        A turn could not be written.
    """
    if not attachments.turns:
        return ()
    calls, results = attachments.turns
    trouble: SessionError | None = None
    try:
        stored = session.append(calls)
    except SessionError as error:
        trouble, stored = error, session.turns[-1]
        if stored.id != calls.id:  # it was not taken in at all
            raise
    ids = {old.id: new.id for old, new in zip(calls.tool_calls, stored.tool_calls, strict=True)}
    blocks = tuple(replace(result, call_id=ids[result.call_id]) for result in results.tool_results)
    answered = session.append(replace(results, blocks=blocks))
    if trouble is not None:
        raise trouble
    return stored, answered


def _turns(items: Sequence[_Item], options: PostCompactRestoreOptions) -> tuple[Turn, ...]:
    """Give the calls their ids: what they are, counted from 0, and the key of the compaction."""
    if not items:
        return ()
    counts: dict[str, int] = {}
    calls: list[ToolCallBlock] = []
    results: list[ToolResultBlock] = []
    for item in items:
        index = counts[item.kind] = counts.get(item.kind, -1) + 1
        call_id = f"compact-restore-{item.kind}-{index}" + (f"-{options.key}" if options.key else "")
        calls.append(replace(item.call, id=call_id))
        enveloped = {**item.result.metadata, ENVELOPE: draw_tag()}
        results.append(replace(item.result, call_id=call_id, metadata=enveloped))
    asked = Turn("assistant", tuple(calls), run_id=options.run_id, injected="restore")
    answered = Turn("user", tuple(results), created_at=asked.created_at, run_id=options.run_id, injected="restore")
    return asked, answered


# --- files ----------------------------------------------------------------------------------------


async def _files(options: PostCompactRestoreOptions) -> list[_Item]:
    read = options.read_file or _reader(options.cwd, options.place)
    chosen = select_recent_files(
        (file for file in options.recent_files if options.allow(file.path)),
        max_files=options.max_files_to_restore,
        exclude_paths=options.exclude_paths,
    )
    items: list[_Item] = []
    room = options.file_token_budget
    for file in chosen:
        try:
            output = await read(file)
        except AbortedError:
            raise
        except Exception:  # noqa: BLE001, S112 - one file that cannot be read is no reason to lose the others
            continue
        if output.is_error:
            continue
        output = _cut_file(output, file, min(options.file_token_per_file_cap, room))
        arguments = {"path": file.path, "offset": file.offset, "limit": file.limit}
        item = _Item.of(
            "file", file.path, options.read_file_tool_name, arguments, output.parts, metadata=output.metadata
        )
        if item.tokens <= room:
            items.append(item)
            room -= item.tokens
    return items


def _reader(cwd: Path, place: ExecutionContext | None) -> FileReader:
    async def read(file: RecentFile) -> ToolOutput:
        from zidane_lab.tools.read_file import read_file
        from zidane_lab.tools.reading.files import threaded

        return await threaded(read_file)(ToolContext(cwd=cwd, place=place), file.path, file.offset, file.limit)

    return read


def _cut_file(output: ToolOutput, file: RecentFile, cap: int) -> ToolOutput:
    """Shorten what was read to ``cap`` tokens, and say where to go on; pictures stay whole or go."""
    if sum(map(estimate_block, output.parts)) <= cap:
        return output
    text = ToolResultBlock("", output.parts).text

    def note(shown: str) -> str:
        whole = shown.count("\n")
        go_on = f"; read_file with offset={file.offset + whole} goes on" if whole else ""
        return f"[put back after a summary and cut here{go_on}]"

    head = _head(text, cap - estimate_tokens(note("\n" * 1_000_000)) - 1)
    head = head[: head.rfind("\n") + 1] or head  # whole lines, if there is one
    border = "" if head.endswith("\n") or not head else "\n"
    metadata = dict(output.metadata)
    if isinstance(evidence := metadata.get(READ), Mapping):
        metadata[READ] = {**evidence, "partial": True}
    return ToolOutput((TextBlock(f"{head}{border}{note(head)}"),), metadata=metadata)


# --- skills ---------------------------------------------------------------------------------------


def _skills(options: PostCompactRestoreOptions) -> list[_Item]:
    items: list[_Item] = []
    room = options.skill_token_budget
    for skill in options.active_skills:
        text = _cut(skill.instructions, min(options.skill_token_per_skill_cap, room), "instructions")
        item = _Item.of("skill", skill.name, options.skills_use_tool_name, {"name": skill.name}, (TextBlock(text),))
        if item.tokens <= room:
            items.append(item)
            room -= item.tokens
    return items


# --- variables ------------------------------------------------------------------------------------


async def _variables(options: PostCompactRestoreOptions) -> tuple[list[_Item], tuple[str, ...]]:
    """Describe the variables as they are now; second, those that are known to have been and are not."""
    items: list[_Item] = []
    missing: list[str] = []
    room = options.variable_token_budget
    if options.executor is None:
        return items, ()
    for variable in options.variables:
        if len(items) + len(missing) >= options.max_variables_to_restore or room < _CHARACTERS // UNITS_PER_TOKEN:
            break
        cap = min(options.variable_token_per_variable_cap, room)
        characters = max(_CHARACTERS, cap * UNITS_PER_TOKEN)
        try:
            text = await options.executor.inspect_variable(variable.name, budget=characters)
        except ToolInputError:  # there is none of that name
            if variable.certain:
                missing.append(variable.name)
            continue
        except AbortedError:
            raise
        except KernelLostError:
            break
        except Exception:  # noqa: BLE001, S112 - an object that cannot be described is no reason to lose the others
            continue
        arguments = {"name": variable.name, "budget": characters}
        parts = (TextBlock(_cut(text, cap, "description")),)
        item = _Item.of("variable", variable.name, options.inspect_variable_tool_name, arguments, parts)
        if item.tokens <= room:
            items.append(item)
            room -= item.tokens
    return items, tuple(missing)


def _gone(missing: Sequence[str], options: PostCompactRestoreOptions) -> _Item:
    """Say that variables are gone, in answer to a call about the first of them."""
    text = f"No longer in the kernel: {', '.join(missing)}. Make them anew before you use them."
    return _Item.of(
        "variable",
        missing[0],
        options.inspect_variable_tool_name,
        {"name": missing[0]},
        (TextBlock(text),),
        is_error=True,
    )


# --- texts ----------------------------------------------------------------------------------------


def _cut(text: str, cap: int, what: str) -> str:
    """Shorten a text to ``cap`` tokens, saying so."""
    if estimate_tokens(text) <= cap:
        return text
    note = f"\n[the {what} cut here: {len(text):,} characters in all]"
    return _head(text, cap - estimate_tokens(note) - 1) + note


def _head(text: str, tokens: int) -> str:
    """Return as much of the beginning as fits into ``tokens``."""
    units = max(0, tokens) * UNITS_PER_TOKEN
    head = text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass")
    return head[:-1] if head[-1:] and "\ud800" <= head[-1] <= "\udbff" else head  # half a character at the cut
