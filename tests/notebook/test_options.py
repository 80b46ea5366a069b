"""Options end where the prompt begins, and the prompt is left as it was typed."""

from __future__ import annotations

import pytest

from zidane_lab.chat.chat import AskOptions
from zidane_lab.errors import ConfigurationError
from zidane_lab.notebook.options import MagicOptions, parse


@pytest.mark.parametrize(
    ("line", "options", "prompt"),
    [
        ("", MagicOptions(), ""),
        ("what is df?", MagicOptions(), "what is df?"),
        ("--bg look   at  df", MagicOptions(background=True), "look   at  df"),
        ("--to r --new hi", MagicOptions(AskOptions(new=True), "r"), "hi"),
        ("--model=openai/org/gpt hi", MagicOptions(AskOptions(model="openai/org/gpt")), "hi"),
        ("--max-cost 0.5 --max-turns 3 x", MagicOptions(AskOptions(max_cost=0.5, max_turns=3)), "x"),
        ("--max-cost $0.5 x", MagicOptions(AskOptions(max_cost=0.5)), "x"),
        ('--notebook "my work.ipynb" x', MagicOptions(notebook="my work.ipynb"), "x"),
        ("explain --model to me", MagicOptions(), "explain --model to me"),
        ("-- --bg is what?", MagicOptions(), "--bg is what?"),
        ("it's --- odd", MagicOptions(), "it's --- odd"),
        ("--- a rule", MagicOptions(), "--- a rule"),
        ("/steer --look here", MagicOptions(), "/steer --look here"),
    ],
)
def test_parsing(line, options, prompt):
    assert parse(line) == (options, prompt)


def test_budgets_are_written_as_people_do():
    options, prompt = parse("--max-tokens 200k --max-time=1h30m go on")
    assert (options.ask.budget_tokens, options.ask.budget_seconds, prompt) == (200_000, 5400, "go on")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--modle x hi", "Did you mean --model"),
        ("--zzz hi", "Options: --model"),
        ("--to", "--to needs a value"),
        ("--to 1x hi", "not a variable name"),
        ("--to class hi", "not a variable name"),
        ("--max-cost nan hi", "amount in dollars"),
        ("--max-cost -1 hi", "amount in dollars"),
        ("--max-turns 1.5 hi", "whole number"),
        ("--max-turns 0 hi", "whole number"),
        ("--max-tokens lots hi", "whole number of tokens"),
        ("--max-time 10 hi", "90s, 10m or 1h30m"),
        ("--max-tme 10m hi", "Did you mean --max-time"),
    ],
)
def test_mistakes_say_what_to_do(line, message):
    with pytest.raises(ConfigurationError, match=message):
        parse(line)
