"""Rewrite ``%%zidane`` and ``%zidane`` into awaited calls, before IPython looks at the text.

A magic cannot be awaited, and by the time IPython's own transforms run, a line ending in ``?`` has become a
request for help. So the rewrite happens in the *cleanup* step, on the raw text: the prompt travels as a string
literal, and ``?``, ``!``, ``{}`` and ``$`` in it mean nothing. History keeps what was typed.
"""

from __future__ import annotations

import io
import re
import tokenize

__all__ = ["CALL", "rewrite"]

CALL = "await get_ipython().run_zidane"
"""What a prompt becomes: a call of a method the extension puts on the shell."""

_CELL = re.compile(r"^%%zidane(?:[ \t]+(?P<line>.*))?$")
_LINE = re.compile(r"^(?P<before>[ \t]*(?:[A-Za-z_]\w*[ \t]*=[ \t]*)?)%zidane(?:[ \t]+(?P<line>.*))?$")


def rewrite(lines: list[str]) -> list[str]:
    """Return the cell's lines with prompts turned into calls; the same list when there are none.

    ``%%zidane`` counts on the first line that is not blank; ``%zidane`` wherever a statement may start, also
    indented, and on the right of an assignment.
    """
    if not any("%zidane" in line for line in lines):
        return lines
    start = next((index for index, line in enumerate(lines) if line.strip()), None)
    if start is None:
        return lines
    first = _CELL.match(lines[start].rstrip("\r\n"))
    if first:
        body = "".join(lines[start + 1 :])
        return [f"{CALL}({(first['line'] or '')!r}, {body!r})\n"]
    out: list[str] = []
    changed = False
    for line in lines:
        match = _LINE.match(line.rstrip("\r\n"))
        if match and not _inside("".join(out)):
            wanted = ", result=True" if "=" in match["before"] else ""
            out.append(f"{match['before']}{CALL}({(match['line'] or '')!r}{wanted})\n")
            changed = True
        else:
            out.append(line)
    return out if changed else lines


def _inside(text: str) -> bool:
    """Whether ``text`` ends within a string or brackets, so that the next line cannot start a statement."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except tokenize.TokenError as error:
        # Newer Pythons also raise for a stray quote within a line (`!echo don't`), which leaves nothing open.
        message = str(error.args[0])
        return "multi-line" in message or "triple-quoted" in message
    except SyntaxError:  # odd indentation; it is for the compiler to complain
        return False
    return False


# IPython asks transforms without side effects whether typed text is complete; a `%%zidane` cell in a terminal
# must not count as complete after its first line.
rewrite.has_side_effects = True  # type: ignore[attr-defined]
