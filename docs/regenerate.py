"""Write the parts of the documentation that are taken from the code.

    python docs/regenerate.py

Such a part stands between ``<!-- exact: NAME -->`` and ``<!-- /exact -->`` and is replaced whole; everything
around it is left alone. ``tests/docs`` fails when a page and the code disagree. The functions that write the parts
are in ``docs/parts``.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parent
if str(DOCS) not in sys.path:
    sys.path.insert(0, str(DOCS))

from parts import approvals, asking, context, files, model, secrets, tables  # noqa: E402 - found from here on

PART: Final = re.compile(r"(<!-- exact: (?P<name>[^>]+?) -->\n).*?(?=<!-- /exact -->)", re.DOTALL)


def render(page: str) -> str:
    """Return a page's text with every part taken anew from the code.

    Raises
    ------
    KeyError
        A part has a name that nothing here writes.
    """
    return PART.sub(lambda match: match[1] + PARTS[match["name"]]() + "\n", page)


def names_in(page: str) -> list[str]:
    """Return the names of the parts of a page, in order."""
    return [match["name"] for match in PART.finditer(page)]


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "system prompt": model.system,
    "plan": model.plan,
    "environment": context.environment,
    "change note": context.change_note,
    "tools": model.tools,
    "result": model.result,
    "failure": model.failure,
    "command result": model.command_result,
    "edit result": model.edit_result,
    "task notice": model.task_notice,
    "stale read": model.stale_read,
    "kept result": context.kept_result,
    "left out": context.left_out,
    "read again": context.read_again,
    "markers": model.markers,
    "repairs": model.repairs,
    "attachments": model.attachments,
    "envelope": model.envelope,
    "refusals": model.refusals,
    "repeated": context.repeated,
    "same error": context.same_error,
    "resumes": context.resumes,
    "not run": context.not_run,
    "summary": context.summary,
    "put back": context.put_back,
    "summary prompt": context.summary_prompt,
    "summary prompt beginnings": context.summary_prompt_beginnings,
    "summary alone": context.summary_alone,
    "modes": approvals.modes,
    "verdicts": approvals.verdicts,
    "shell verdicts": approvals.shell_verdicts,
    "harmless programs": approvals.harmless_programs,
    "question": approvals.question,
    "covered": approvals.covered,
    "kinds of secrets": secrets.kinds,
    "secret names": approvals.secret_names,
    "guarded files": approvals.guarded_files,
    "how to answer": asking.how_to_answer,
    "rpc methods": asking.rpc_methods,
    "rpc codes": asking.rpc_codes,
    "paths": files.paths,
    "steered": files.steered,
    "commands": tables.commands,
    "settings": tables.settings,
    "providers": tables.providers,
    "run options": tables.run_options,
    "usage options": tables.usage_options,
    "exit codes": tables.exit_codes,
    "events": tables.events,
    "windows": tables.windows,
    "budget question": tables.budget_question,
    "behavior": tables.behavior,
    "auto compact": tables.auto_compact,
    "retry policy": tables.retry_policy,
    "resume policy": tables.resume_policy,
    "guards": tables.guards,
    "container": tables.container,
    "ssh host": tables.ssh_host,
    "search services": tables.search_services,
}


def main() -> int:
    """Rewrite the pages that are behind, and name them."""
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        fresh = render(page)
        if fresh != page:
            path.write_text(fresh, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(DOCS)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
