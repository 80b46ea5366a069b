"""``/approvals``: what runs unasked in this project and this session, and taking it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from zidane_lab.approvals.decisions import Grants
from zidane_lab.approvals.safelist import describe_entry
from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.report import table
from zidane_lab.chat.safelist_store import Safelist, safelist_for
from zidane_lab.errors import ConfigurationError

__all__: list[str] = []

_USAGE: Final = "/approvals [revoke N|ENTRY|all] [allow ENTRY] [deny ENTRY]"
_HOW: Final = f"Write `%zidane {_USAGE}`; `%zidane /approvals` numbers the entries."


@command("approvals", _USAGE, "what runs unasked here, what is refused, and taking it back: `/approvals revoke 2`")
async def _approvals(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    safelist = safelist_for(chat.place.folder, chat.env, where=chat.places.where(chat.settings))
    grants: Grants = getattr(chat, "grants", None) or Grants()
    word, _, rest = arguments.partition(" ")
    rest = rest.strip().strip("`")
    if word and not rest:
        raise ConfigurationError(f"/approvals {arguments} cannot be read.", hint=_HOW)
    match word:
        case "":
            done = ""
        case "revoke":
            done = _revoke(safelist, grants, rest)
        case "allow" | "deny":
            safelist.remember([rest], "allow" if word == "allow" else "deny")
            done = f"{'Runs unasked' if word == 'allow' else 'Refused'} here from now on: {describe_entry(rest)}."
        case _:
            raise ConfigurationError(f"/approvals {arguments} cannot be read.", hint=_HOW)
    return Reply("\n\n".join(filter(None, [done, _list(safelist, grants, chat.settings.mode)])))


def _numbered(safelist: Safelist, grants: Grants) -> list[tuple[str, str]]:
    """Return each entry with where it counts, in the order of the list."""
    rows = [(entry, "always here") for entry in safelist.allowed()]
    rows += [(entry, "this session") for entry in grants.entries if (entry, "always here") not in rows]
    rows += [(entry, "refused here") for entry in safelist.denied()]
    return rows


def _revoke(safelist: Safelist, grants: Grants, what: str) -> str:
    rows = _numbered(safelist, grants)
    if what == "all":
        chosen = [entry for entry, where in rows if where != "refused here"]
    elif what.isascii() and what.isdecimal():
        chosen = [entry for entry, _ in rows[int(what) - 1 : int(what)]] if int(what) else []
    else:
        chosen = [entry for entry, _ in rows if entry == what]
    if not chosen and what != "all":
        raise ConfigurationError(f"There is no entry {what}.", hint=_HOW)
    for entry in chosen:
        grants.revoke(entry)
        safelist.revoke(entry)
    if what == "all":
        grants.bypass = False
    return f"Taken back: {_words(chosen)}. It is asked about again from the next call on."


def _words(entries: Sequence[str]) -> str:
    return ", ".join(f"`{entry}`" for entry in entries) or "nothing was remembered"


def _list(safelist: Safelist, grants: Grants, mode: str) -> str:
    rows = _numbered(safelist, grants)
    lines = [f"Mode `{mode}`, project `{safelist.keys[0]}`."]
    if safelist.problem is not None:
        lines.append(f"**{safelist.problem}**: nothing in it counts, and nothing can be remembered until it is mended.")
    if grants.bypass:
        lines.append("**Everything runs unasked in this session** (mode `bypass` is confirmed).")
    if not rows:
        lines.append("Nothing is remembered: what asks, asks each time.")
        return "\n\n".join(lines)
    numbered = [(number, f"`{entry}`", describe_entry(entry), where) for number, (entry, where) in enumerate(rows, 1)]
    lines.append(table(("", "entry", "covers", "where"), numbered, "r"))
    return "\n\n".join(lines)
