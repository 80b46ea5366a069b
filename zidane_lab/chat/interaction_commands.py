"""``/pending`` and ``/answer``: what waits for a decision, and deciding it, now or in a later kernel."""

from __future__ import annotations

from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.interacting import Desk, desk_of
from zidane_lab.chat.typed_answers import described, how_to_answer, read_typed
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interactions import Interaction
from zidane_lab.session.session import Session

__all__ = ["pending_note"]

_WORDS = {"approval": "permission", "question": "answer", "plan": "decision about a plan", "budget": "larger budget"}


@command("pending", "/pending", "what waits for your decision, also of a kernel that has died")
async def _pending(context: CommandContext, _arguments: str) -> Reply:
    note = pending_note(context.chat.session)
    return Reply(note or "Nothing waits for you.")


@command(
    "answer", "/answer [ID] ANSWER", "decide what waits for you: `/answer yes`, `/answer no because…`, `/answer 2`"
)
async def _answer(context: CommandContext, arguments: str) -> Reply:
    session = context.chat.session
    desk = desk_of(session)
    name, text = _parted(desk, arguments)
    if not text:
        interaction = desk.find(name)
        raise ConfigurationError("The answer is empty.", hint=f"Write: /answer {_short(interaction)} ANSWER.")
    interaction = desk.find(name)
    _ = context.chat.screen  # a credential in the answer is masked, also where nothing was asked in this kernel yet
    desk.answer(interaction.id, read_typed(interaction, text), by="command")
    if context.chat.agent is not None:
        return Reply("Told: the run goes on.")
    rest = desk.pending
    if rest:
        return Reply(f"Kept. {_listed(rest)}")
    return Reply("Kept. `%zidane continue` goes on from there: what was allowed runs, and the model reads your answer.")


def pending_note(session: Session) -> str:
    """Return what waits in a session and how to answer it, in Markdown; empty when nothing does."""
    pending = desk_of(session).pending
    return _listed(pending) if pending else ""


def _listed(pending: tuple[Interaction, ...]) -> str:
    count = "One thing waits" if len(pending) == 1 else f"{len(pending)} things wait"
    return "\n\n".join([f"{count} for you:", *map(_drawn, pending)])


def _drawn(interaction: Interaction) -> str:
    """Draw one interaction: what is asked is foreign text and stays in a fence it cannot leave."""
    text = described(interaction)
    fence = "```"
    while fence in text:
        fence += "`"
    when = f", asked {interaction.created_at[:16].replace('T', ' ')} UTC" if interaction.created_at else ""
    return (
        f"**{_short(interaction)}** ({_WORDS[interaction.kind]}{when})\n\n{fence}\n{text}\n{fence}\n\n"
        f"`%zidane /answer {_short(interaction)} {how_to_answer(interaction)}`"
    )


def _short(interaction: Interaction) -> str:
    """Return as much of an id as people need to type."""
    return interaction.id.removeprefix("ask_")[:6]


def _parted(desk: Desk, arguments: str) -> tuple[str, str]:
    """Tell the id from the answer; the id may be left out where only one thing waits."""
    word, _, rest = arguments.replace("\n", " \n", 1).partition(" ")
    ids = [each.id.removeprefix("ask_") for each in desk.pending]
    short = word.removeprefix("ask_")
    if len(short) >= 4 and any(each.startswith(short) for each in ids):
        return short, rest.strip()
    return "", arguments.strip()
