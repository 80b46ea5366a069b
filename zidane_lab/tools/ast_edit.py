"""The ``ast_edit`` tool: code that fits patterns rewritten in many files at once, always as a preview first.

What is shown waits for :mod:`~zidane_lab.tools.resolve`, which works it out again before anything is written. Files
with syntax errors are left alone, and so are those that would have one afterwards.
"""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.tools.ast_grep import scope_of
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.anchors import tagged
from zidane_lab.tools.edits.commit import EDIT
from zidane_lab.tools.edits.files import editable, files_of, load
from zidane_lab.tools.edits.pending import PENDING, Staged, pending_of
from zidane_lab.tools.edits.plan import FileEdit, Plan, edit_metadata
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.reading.files import threaded
from zidane_lab.tools.structure.engine import (
    TIME_LIMIT,
    Found,
    Job,
    Unit,
    match_files,
    match_sources,
    refuse_unusable,
    require_library,
)
from zidane_lab.tools.structure.languages import Language
from zidane_lab.tools.structure.patterns import Rule, read_rules
from zidane_lab.tools.structure.rewrite import Replacement, rewrite_text
from zidane_lab.tools.structure.scope import Asked, Private, Scope, counted, is_notebook
from zidane_lab.tools.structure.show import problem_lines, snippet
from zidane_lab.tools.useless import USELESS
from zidane_lab.turns import TextBlock

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings typing_extensions, reads only its TypedDict before Python 3.12
    from typing_extensions import TypedDict

__all__ = [
    "MOST_FILES",
    "MOST_FILES_VARIABLE",
    "MOST_MATCHES",
    "RewriteOp",
    "ast_edit",
    "ast_edit_tool",
    "plan_ast_edit",
]

MOST_FILES: Final = 1_000
"""Files one call may change, unless the environment says otherwise."""

MOST_FILES_VARIABLE: Final = "ZIDANE_MAX_AST_FILES"
"""The variable of the environment that does: a whole number above zero."""

MOST_MATCHES: Final = 20_000
"""Places one call may change."""

_SHOWN: Final = 100
"""Changes shown of a preview, and lines of what was written."""


class RewriteOp(TypedDict):
    """A pattern and what to put in the place of code that fits it."""

    pattern: str
    rewrite: str


@functools.cache
def ast_edit_tool(private: Private | None = None) -> Tool:
    """Return the tool. It writes nothing itself, so it counts as reading; what ``resolve`` writes is asked about.

    Parameters
    ----------
    private
        Files it says yes to are left alone in folders, and counted.
    """
    from zidane_lab.tools.decorator import tool

    @functools.wraps(ast_edit)
    async def editing(
        context: ToolContext, ops: Sequence[RewriteOp], paths: Sequence[str] | str, **named: Any
    ) -> ToolOutput:
        return await _preview(context, _Asked(ops, paths, **named), private)

    return tool(name="ast_edit", tier="read")(editing)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of a call."""

    ops: Sequence[Mapping[str, Any]]
    paths: Sequence[str] | str
    language: str | None = None
    globs: Sequence[str] | str | None = None


async def ast_edit(
    context: ToolContext,
    ops: Annotated[
        list[RewriteOp],
        "Each has pattern and rewrite, as in ast_grep: `$NAME` is one node, `$$$NAME` any number, and the rewrite "
        "names what the pattern captured, as in `old($$$ARGS)` and `new($$$ARGS)`. An empty rewrite deletes.",
    ],
    paths: Annotated[list[str] | str, "Files, folders or patterns such as `src/**/*.py`."],
    *,
    language: Annotated[str | None, "The language, where the paths hold several; one for each call."] = None,
    globs: Annotated[list[str] | str | None, "Only files like these: `*.py`, `src/**/*.{ts,tsx}`."] = None,
) -> ToolOutput:
    """Rewrite code by its syntax, in one file or many. Always a preview: nothing is written until resolve applies it.

    Formatting of what is captured, encodings and line ends stay. Files with syntax errors, generated files and
    notebooks are left alone and named. Matches that overlap are refused; one inside a capture is rewritten with it.

    Raises
    ------
    ToolError
        A pattern or rewrite cannot be used, or matches overlap; nothing waits then.
    """
    return await _preview(context, _Asked(ops, paths, language, globs), None)


async def plan_ast_edit(
    context: ToolContext,
    ops: Sequence[Mapping[str, Any]],
    paths: Sequence[str] | str,
    language: str | None = None,
    globs: Sequence[str] | str | None = None,
) -> Plan:
    """Work out the changes without making them.

    Raises
    ------
    ToolError
        They cannot be made.
    """
    return (await _work_out(context, _Asked(ops, paths, language, globs), None)).plan


async def _preview(context: ToolContext, asked: _Asked, private: Private | None) -> ToolOutput:
    require_library()
    pending = pending_of(context)

    async def again(now: ToolContext) -> Plan:
        return (await _work_out(now, asked, private)).plan

    work = await _work_out(context, asked, private)
    if not work.plan.files:
        is_useless = not work.notes
        metadata: dict[str, Any] = {USELESS: True} if is_useless else {}
        return ToolOutput((TextBlock("\n".join([work.plan.text, *work.notes])),), metadata=metadata)
    metadata = {EDIT: await asyncio.to_thread(edit_metadata, work.plan.files)}
    staged = Staged(f"preview_{secrets.token_hex(6)}", work.plan, again)
    pending.add(staged)
    shown = await asyncio.to_thread(lambda: list(work.shown()))
    lines = [f"Preview: {work.told}. Nothing has been written; call resolve to apply or discard it.", *work.notes]
    return ToolOutput((TextBlock("\n".join([*lines, *shown])),), metadata={**metadata, PENDING: staged.id})


@dataclass(frozen=True, slots=True)
class _Work:
    """A call worked out: the plan, the replacements of each file, and what to tell about the rest."""

    plan: Plan
    changes: tuple[tuple[FileEdit, tuple[Replacement, ...]], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """How much would change."""
        return _counted(self.changes)

    def shown(self) -> Iterator[str]:
        """Yield the first lines before and after each change, for a number of changes."""
        room, left_out = _SHOWN, 0
        for edit, replacements in self.changes:
            if room > 0:
                yield from ("", f"{edit.name} ({sum(each.matches for each in replacements):,})")
            for each in replacements[: max(room, 0)]:
                yield from _change(edit.old or "", each)
            left_out += max(0, len(replacements) - max(room, 0))
            room -= len(replacements)
        if left_out:
            yield f"\n[{left_out:,} more changes are not shown here]"


def _counted(changes: Sequence[tuple[FileEdit, Sequence[Replacement]]]) -> str:
    number = sum(each.matches for _, replacements in changes for each in replacements)
    return f"{counted(number, 'replacement')} in {counted(len(changes), 'file')}"


def _change(text: str, each: Replacement) -> Iterator[str]:
    line = text.count("\n", 0, each.start) + 1
    column = each.start - text.rfind("\n", 0, each.start)
    yield f"-{line}:{column} {snippet(text[each.start : each.end])}"
    if each.new:
        yield f"+{line}:{column} {snippet(each.new)}"


async def _work_out(context: ToolContext, call: _Asked, private: Private | None) -> _Work:
    require_library()
    end = time.monotonic() + TIME_LIMIT
    asked = Asked.of(call.paths, call.globs, call.language, ignored=False)
    files, scope = await scope_of(context, asked, private, end)
    language = asked.language or _only_language(scope)
    rules = read_rules([(str(each["pattern"]), str(each["rewrite"])) for each in call.ops], language)
    candidates = [each for each in scope.files if each.language is language]
    job = Job(tuple((rule.pattern, rule.rewrite) for rule in rules), last=MOST_MATCHES + 1, strict=True)
    found = await match_files(files, candidates, language, job, end)
    refuse_unusable(found)
    _refuse_partial_search(found, scope)
    changes, problems = await _changes(context, found, rules, end)
    notes = [f"[{each}]" for each in scope.notes]
    if (books := [each.name for each in scope.files if is_notebook(each.path)]) and not asked.globs:
        notes.append(f"[{counted(len(books), 'notebook')} left alone; ast_grep searches their cells]")
    if len(changes) > (most := _most_files()):
        changes = changes[:most]
        notes.append(f"[limit reached: only the first {counted(most, 'file')} would be changed; narrow `paths`]")
    found.problems += problems
    notes += problem_lines(found, "left alone")
    if not changes:
        return _Work(Plan("ast_edit", (), _nothing(found, len(candidates), language)), notes=tuple(notes))
    edits = tuple(edit for edit, _ in changes)
    text = "\n".join([f"Applied {_counted(changes)}.", *await asyncio.to_thread(_written, changes)])
    return _Work(Plan("ast_edit", edits, text, shows_tags=True), tuple(changes), tuple(notes))


def _most_files() -> int:
    said = os.environ.get(MOST_FILES_VARIABLE, "").strip()
    return int(said) if said.isascii() and said.isdigit() and len(said) < 7 and int(said) > 0 else MOST_FILES


def _nothing(found: Found, files: int, language: Language) -> str:
    if found.units and found.problems:
        return "No replacements made: what fits is in files that are left alone."
    if found.units:
        return "No replacements made: the rewrite is what stands there already."
    hint = f" By itself a pattern is no whole {language.name}, so it may fit nothing." if found.partial else ""
    return f"No replacements made: nothing fits in {counted(files, f'{language.name} file')}.{hint}"


def _only_language(scope: Scope) -> Language:
    """Return the language that all files are in."""
    counts = Counter(each.language for each in scope.files if each.language is not None)
    if not counts:
        notebooks = [each.name for each in scope.files]
        if notebooks:
            raise ToolError(
                f"{show_name(notebooks[0])} is a notebook; notebook files are never written.",
                hint="Change its cells with the tools for cells, or show the user the new code.",
            )
        raise ToolError("There is no code here that can be parsed.", hint="Look with list_files, or use edit.")
    if len(counts) > 1:
        told = ", ".join(f"{language.name} ({counted(count, 'file')})" for language, count in counts.most_common())
        raise ToolError(
            f"The paths hold code in several languages: {told}.",
            hint="Name one of them as `language`; nothing was done.",
        )
    return next(iter(counts))


def _refuse_partial_search(found: Found, scope: Scope) -> None:
    """Refuse to change some of the places only because the others were not found in time."""
    if found.unusable:
        raise ToolError(f"A pattern cannot be used: {next(iter(found.unusable.values()))}.", hint="Correct it.")
    if found.total > MOST_MATCHES:
        raise ToolError(
            f"There are {found.total:,} matches, more than {MOST_MATCHES:,}.", hint="Use narrower patterns or `paths`."
        )
    stopped = found.stopped or ("" if scope.complete else "not all folders could be looked into")
    if stopped:
        raise ToolError(f"Not everything was searched: {stopped}. Nothing was done.", hint="Give smaller `paths`.")


async def _changes(
    context: ToolContext, found: Found, rules: Sequence[Rule], end: float
) -> tuple[list[tuple[FileEdit, tuple[Replacement, ...]]], list[str]]:
    """Return what would become of each file, and why some are left alone."""
    place = files_of(context)
    changes: list[tuple[FileEdit, tuple[Replacement, ...]]] = []
    units: list[Unit] = []
    problems: list[str] = []
    for unit in found.units:
        replacements = await _replaced(unit, rules, found.rule_fixed)
        if not replacements:
            continue
        try:
            edit = await _edited(place, unit, replacements)
        except ToolError as error:
            reason = error.message.removeprefix(f"{unit.source.file.path} ")
            problems.append(f"{unit.source.label}: left alone; {reason}")
            continue
        changes.append((edit, tuple(replacements)))
        units.append(unit)
    bad = await _spoiled([(unit, edit.new or "") for unit, (edit, _) in zip(units, changes, strict=True)], end)
    problems += bad.values()
    return [each for index, each in enumerate(changes) if index not in bad], problems


async def _edited(place: ExecutionContext, unit: Unit, replacements: Sequence[Replacement]) -> FileEdit:
    stored = await load(place, unit.source.file.path, must_exist=True)
    file = editable(stored)
    if file.text != unit.source.text:
        raise ToolError("it was changed by somebody else just now")
    changed = file.splice([each.span for each in replacements])
    return FileEdit(stored, changed.encode(), file.text, changed.text, show_name(unit.source.file.name))


@threaded
def _replaced(unit: Unit, rules: Sequence[Rule], rule_fixed: Sequence[Sequence[int]]) -> list[Replacement]:
    try:
        return rewrite_text(unit.source.text, unit.matches, rules, fixed=unit.fixed, rule_fixed=rule_fixed)
    except ToolError as error:
        raise ToolError(f"{show_name(unit.source.label)}: {error.message}", hint=error.hint) from error


async def _spoiled(changed: Sequence[tuple[Unit, str]], end: float) -> dict[int, str]:
    """Return which new texts, by their index, would have a syntax error, with a sentence on each."""
    sources = [replace(unit.source, text=text, parsed=text) for unit, text in changed]
    checked = Found()
    await match_sources(sources, Job(strict=True), end, checked)
    if checked.stopped or checked.searched < len(sources):
        told = checked.stopped or checked.problems[0]
        raise ToolError(f"The result could not be checked: {told}. Nothing was done.", hint="Give smaller `paths`.")
    lines = dict(checked.broken)
    fine = {unit.source.file.path for unit in checked.units}
    bad: dict[int, str] = {}
    for index, (unit, _) in enumerate(changed):
        label = unit.source.label
        if label in lines:
            bad[index] = f"{label}: left alone; line {lines[label]} would be no syntax any more"
        elif unit.compiles and unit.source.file.path not in fine:
            bad[index] = f"{label}: left alone; it would be no valid Python any more"
    return bad


def _written(changes: Sequence[tuple[FileEdit, Sequence[Replacement]]]) -> list[str]:
    """Return the changed lines with their new tags, file by file; of many, the first."""
    lines: list[str] = []
    room = _SHOWN
    for edit, replacements in changes:
        if room <= 0:
            break
        new, shift = edit.new or "", 0
        numbers: dict[int, None] = {}
        for each in replacements:
            start = each.start + shift
            shift += len(each.new) - (each.end - each.start)
            if each.new:
                numbers[new.count("\n", 0, start)] = None
            if len(numbers) >= room:
                break
        text, shown = new.split("\n"), list(numbers)
        lines += [edit.name, *(tagged(text[number], number + 1) for number in shown if text[number])]
        room -= len(shown)
    left_out = sum(len(replacements) for _, replacements in changes) - _SHOWN
    return [*lines, *([f"[{left_out:,} more changes are not shown]"] if left_out > 0 and room <= 0 else [])]
