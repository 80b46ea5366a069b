"""What runs, what asks, and what an answer covers: asked of the gate itself."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from parts.text import fenced, table

CODE: Final = (
    "means = df.groupby('species').mean(numeric_only=True)",
    "pd.read_csv('more.csv').head()",
    "df.plot.scatter('a', 'b')",
    "import sklearn",
    "from bokeh.plotting import show; show(p)",
    "df['b'] = 1",
    "df.drop(columns='a', inplace=True)",
    "df = df.dropna()",
    "del df",
    "df.to_csv('copy.csv')",
    "import subprocess",
    "!ls",
    "%pip install polars",
    "import os; os.environ['HOME']",
    "pd.read_csv('https://example.org/x.csv')",
    "pd.read_pickle('model.pkl')",
    "eval(text)",
)
"""Code that ``docs/approvals.md`` shows the gate's answer to."""

COMMANDS: Final = (
    "ls -la data && du -sh data",
    "grep -rn TODO src | head",
    "git status",
    "git log --oneline -5",
    "sed -n 1,20p notes.md",
    'for f in *.csv; do wc -l "$f"; done',
    "timeout 5 sleep 10",
    "mkdir out",
    "echo done > log.txt",
    "rm -r build",
    "sort -o sorted.txt words.txt",
    "git commit -am wip",
    "git push",
    "git reset --hard",
    "pytest -q",
    "python train.py",
    "pip install polars",
    "curl https://example.org",
    "cat .env",
    "echo $API_KEY",
    "bash -c 'ls'",
    "find . -name '*.tmp' -exec rm {} +",
    "sudo ls",
    "PATH=. ls",
    "$(cat command.txt)",
    "sleep 60 &",
    "echo 'no end",
)
"""Commands of which the same is shown."""

CALLS: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("run_python", {"code": "df.to_csv('out/a.csv')"}, "execute"),
    ("run_python", {"code": "df = df.dropna()"}, "execute"),
    ("run_python", {"code": "import shutil; shutil.rmtree('out')"}, "execute"),
    ("run_python", {"code": "import bayeslite"}, "execute"),
    ("run_python", {"code": "eval(text)"}, "execute"),
    ("edit", {"path": "area.py", "old_string": "a", "new_string": "b"}, "write"),
    ("shell", {"command": "pytest -q | tail -5"}, "execute"),
    ("shell", {"command": "git commit -am wip"}, "execute"),
    ("shell", {"command": "make > log.txt"}, "execute"),
    ("shell", {"command": "bash -c 'make'"}, "execute"),
    ("shell", {"command": "git reset --hard"}, "execute"),
    ("shell", {"command": "rm -r ../elsewhere"}, "execute"),
)
"""Calls of which is shown what *session* and *always* would allow: tool, arguments, tier."""

_KINDS: Final = ("looking", "code that only computes", "changes of files in the project", "everything else")


def modes() -> str:
    """Return what each mode does, by asking the table that decides."""
    from zidane_lab.approvals.modes import MODES, Case, decide

    cases = (
        Case("read", "read"),
        Case("execute", "compute"),
        Case("write", "write", in_project=True),
        Case("execute", "execute"),
    )
    words = {"allow": "runs", "ask": "asks", "deny": "refused"}
    notes = {"auto": " (the default)"}
    rows = (
        [f"`{mode}`{notes.get(mode, '')}", *(words[decide(mode, case).kind] for case in cases)]
        for mode in ("auto", *(each for each in MODES if each != "auto"))
    )
    return table(("mode", *_KINDS), rows)


def verdicts() -> str:
    """Return pieces of code and what the gate says of them, where ``df`` is the person's own table."""
    from zidane_lab.approvals.python_code import classify

    known = {"df": "pandas.DataFrame()", "pd": "pandas"}
    judged = ((code, classify(code, protected=frozenset({"df"}), known=known)) for code in CODE)
    return table(("code", "in mode `auto`"), ((f"`{code}`", _verdict(each.reasons)) for code, each in judged))


def shell_verdicts() -> str:
    """Return commands and what the gate says of them."""
    from zidane_lab.approvals.shell_code import classify_shell

    judged = ((command, classify_shell(command)) for command in COMMANDS)
    return table(("command", "in mode `auto`"), ((f"`{command}`", _verdict(each.reasons)) for command, each in judged))


def _verdict(reasons: Iterable[Any]) -> str:
    whys = "; ".join(dict.fromkeys(reason.why for reason in reasons))
    return f"asks: {whys}" if whys else "runs"


def harmless_programs() -> str:
    """Return the programs that run unasked whatever their words, and those that do with the words that only look."""
    from zidane_lab.approvals.shell_heads import _SPECIAL
    from zidane_lab.approvals.shell_rules import EFFECTS, HARMLESS, OPAQUE, OPTIONS

    some = (OPTIONS.keys() | (_SPECIAL.keys() - EFFECTS.keys() - OPAQUE.keys())) - HARMLESS
    some |= {"git", "sed", "awk", "find"} & _SPECIAL.keys()
    return fenced(f"{_listed(HARMLESS)}\n\nwith words that only look:\n{_listed(some)}")


def _listed(names: Iterable[str]) -> str:
    import textwrap

    words = " ".join(sorted(name for name in names if name.isprintable()))
    return "\n".join(textwrap.wrap(words, 110, break_on_hyphens=False, break_long_words=False))


def covered() -> str:
    """Return what would be remembered of some calls."""
    from zidane_lab.approvals.safelist import describe_entry

    rows = []
    for tool, arguments, tier in CALLS:
        main = arguments.get("code") or arguments.get("command") or arguments["path"]
        question = _question(tool, arguments, tier)
        entries = question.remember if question is not None else ()
        words = "; ".join(map(describe_entry, entries)) or "nothing: it is asked each time"
        rows.append((f"`{tool}`: `{main}`", ", ".join(f"`{_short(each)}`" for each in entries), words))
    return table(("call", "entry", "covers"), rows)


def _short(entry: str) -> str:
    head, _, code = entry.partition(":code-")
    return f"{head}:code-{code[:6]}…:*" if code else entry


def question() -> str:
    """Return a question as a person reads it."""
    asked = _question("shell", {"command": "pytest -q | tail -5", "intent": "Run the tests"}, "execute")
    assert asked is not None
    return fenced(f"{asked.text}\n{asked.prompt}")


def _question(tool: str, arguments: dict[str, Any], tier: str) -> Any:
    """Return what the gate asks about a call; ``None`` where it does not ask."""
    from zidane_lab.approvals.gate import Gate, Question
    from zidane_lab.approvals.project import Project
    from zidane_lab.events import Ids, ToolGate

    asked: list[Question] = []

    async def ask(given: Question) -> bool:
        asked.append(given)
        return False

    def remember(_entries: object) -> None:
        return None

    def known() -> Mapping[str, str]:
        return {"df": "pandas.DataFrame()"}

    with tempfile.TemporaryDirectory() as name:
        folder = str(Path(name).resolve())
        gate = Gate(
            ask,
            tiers={tool: tier},  # type: ignore[dict-item]  # one of the tiers
            protected=lambda: frozenset({"df"}),
            known=known,
            project=lambda: Project(folder, folder),
            remember=remember,
        )
        asyncio.run(gate(ToolGate(Ids(), tool, arguments)))
    return asked[0] if asked else None


def secret_names() -> str:
    """Return the names of files that commonly hold secrets."""
    from zidane_lab.approvals.secrets import _NAMES, _PATHS

    return fenced(_listed([*_NAMES, *_PATHS]))


def guarded_files() -> str:
    """Return the files in a project that are asked about whatever was allowed."""
    from zidane_lab.approvals.project import _GUARDED_FOLDERS, _GUARDED_NAMES

    return fenced(_listed([*_GUARDED_NAMES, *(f"{folder}/" for folder in _GUARDED_FOLDERS)]))
