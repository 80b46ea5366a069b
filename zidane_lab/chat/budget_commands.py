"""``/budget``: what may be spent, what was, and what is left; and a limit for the rest of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, TypeAlias

from zidane_lab.agent.budgets import KINDS, SCOPES, Budgets, Spent, judge, spent_in
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.chat.amounts import amount_words, read_amount
from zidane_lab.chat.budgets import budgets_in_force, notebook_spent, record_limit
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.report import table
from zidane_lab.chat.settings import load_settings
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import BudgetKind, BudgetScope

__all__ = ["budget_table"]

_USAGE: Final = "/budget [session KIND AMOUNT|none]"
_HOW: Final = (
    "Write `%zidane /budget session cost 2.50`, with `cost`, `tokens`, `turns` or `time`; `none` for no limit."
)
_ELSEWHERE: Final[dict[str, str]] = {
    "run": "A run's limits are options of its prompt (`--max-cost`, `--max-tokens`, `--max-time`, `--max-turns`) or "
    "settings (`%zidane /config max_cost 0.50`).",
    "notebook": "A notebook's limits are settings: `%zidane /config notebook_max_cost 20`.",
}

_ByScope: TypeAlias = dict[BudgetScope, Spent]


@command(
    "budget", _USAGE, "what may be spent and what is left, or a limit for this session: `/budget session cost 2.50`"
)
async def _budget(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    done = f"{_decide(chat, arguments.split())}\n\n" if arguments else ""
    ledger: BudgetLedger | None = getattr(chat.agent, "ledger", None)
    if ledger is not None and not arguments:
        # Not budgets_in_force: a run keeps the limits it began with, and what it extended.
        return Reply(budget_table(ledger.budgets, {scope: ledger.spent(scope) for scope in SCOPES}))
    chat.settings = load_settings(chat.env)
    notebook = await asyncio.to_thread(notebook_spent, chat.folder)
    spent: _ByScope = {"session": spent_in(chat.session), "notebook": notebook}
    return Reply(f"{done}{budget_table(budgets_in_force(chat.settings, chat.session), spent)}")


def _decide(chat: Chat, words: list[str]) -> str:
    """Set or lift a limit of the session, and say so."""
    scope, kind_name, text = (*words, "", "", "")[:3]
    if scope in _ELSEWHERE:
        raise ConfigurationError(f"/budget sets no limit of a {scope}.", hint=_ELSEWHERE[scope])
    kind = next((each for each in KINDS if each == kind_name), None)
    if scope != "session" or kind is None or len(words) != 3:
        raise ConfigurationError(f"/budget {' '.join(words)} cannot be read.", hint=_HOW)
    amount = None if text in ("none", "off") else _amount(kind, text)
    record_limit(chat.session, "session", kind, amount)
    when = " The run that is going on keeps the limits it began with." if chat.agent is not None else ""
    if amount is None:
        return f"This session has no limit on {kind} any more.{when}"
    spent = spent_in(chat.session).amount(kind)
    over = " **That much is spent already**: the next run asks before it spends more." if spent >= amount else ""
    return f"This session may use {amount_words(kind, amount)} in all.{over}{when}"


def _amount(kind: BudgetKind, text: str) -> float:
    try:
        return read_amount(kind, text)
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is no {kind} budget: {error}.", hint="Nothing was changed.") from error


def budget_table(budgets: Budgets, spent: dict[BudgetScope, Spent]) -> str:
    """Return the limits as a Markdown table: what is spent of each, and what is left.

    A scope without a limit has one row that says what was spent in it, if anything is known.
    """
    rows: list[Iterable[str]] = []
    for scope in SCOPES:
        verdicts = [each for each in judge(budgets, spent) if each.limit.scope == scope]
        rows += [
            (
                f"{scope}, {each.limit.kind}",
                amount_words(each.limit.kind, each.limit.amount),
                amount_words(each.limit.kind, each.spent),
                amount_words(each.limit.kind, each.left),
            )
            for each in verdicts
        ]
        if not verdicts:
            rows.append((scope, "none", _all_of(spent.get(scope, Spent())), ""))
    return table(("budget", "limit", "spent", "left"), rows)


def _all_of(spent: Spent) -> str:
    kinds: tuple[BudgetKind, ...] = ("tokens", "cost") if spent.usage.cost else ("tokens",)
    return ", ".join(amount_words(kind, spent.amount(kind)) for kind in kinds)
