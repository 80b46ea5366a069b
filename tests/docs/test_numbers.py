"""Numbers that the pages name in prose are those of the code."""

from __future__ import annotations

import inspect
import re

import pytest

from tests.docs.pages import DOCS


def page(name: str) -> str:
    return re.sub(r"\s+", " ", (DOCS / name).read_text(encoding="utf-8"))


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def kept_on_overflow() -> int:
    """Tokens of newest results that stay when the service refused the request as too long."""
    from zidane_lab.agent.room import Room

    return int(re.search(r"protect=([\d_]+)", inspect.getsource(Room.after_overflow))[1])


def context() -> list[str]:
    from zidane_lab.agent.cache import LEAST_SHARE, LEAST_TOKENS
    from zidane_lab.compaction.prune import PrunePolicy
    from zidane_lab.compaction.useless import SMALL_SUFFIX
    from zidane_lab.providers.catalog import OUTPUT_RESERVE, SMALLEST_SHARE
    from zidane_lab.session.persisted import DEFAULT_THRESHOLD, PERSISTENCE_PREVIEW_BYTES

    policy = PrunePolicy()
    assert SMALLEST_SHARE == 5
    return [
        f"{OUTPUT_RESERVE:,} tokens of the window are kept free for the answer, at most four fifths of it",
        f"at least {LEAST_TOKENS:,} tokens, and {percent(LEAST_SHARE)} of what it could have read",
        f"at most {SMALL_SUFFIX:,} tokens follow",
        f"before the newest {policy.protect:,} tokens of results, if that saves at least {policy.minimum:,}",
        f"before the newest {kept_on_overflow():,} tokens of results",
        f"less than {policy.smallest} tokens",
        f"more than {DEFAULT_THRESHOLD:,} bytes goes to a file",
        f"first {PERSISTENCE_PREVIEW_BYTES:,} bytes",
    ]


def compaction() -> list[str]:
    from zidane_lab.agent.compacting import RESTORE_SHARE
    from zidane_lab.agent.room import _OVERFLOW_KEEPS
    from zidane_lab.compaction.config import AutoCompact
    from zidane_lab.compaction.restore import PostCompactRestoreOptions
    from zidane_lab.compaction.scope import KEEP_TURNS
    from zidane_lab.compaction.summarize import TRANSIENT_RETRIES
    from zidane_lab.compaction.touched import MOST_FILES, MOST_VARIABLES
    from zidane_lab.providers.catalog import OUTPUT_RESERVE

    config, restored = AutoCompact(), PostCompactRestoreOptions()
    words = {1: "once", 2: "twice", 3: "three times", 4: "four", 5: "five"}
    assert _OVERFLOW_KEEPS == (None, 1)
    assert config.keep_turns == KEEP_TURNS
    return [
        f"From {percent(config.threshold)} of the window less {OUTPUT_RESERVE:,} tokens on",
        f"all turns but the last {words[config.keep_turns]} are summarised",
        f"grown by less than {percent(config.min_growth)} of the window",
        f"failed {words[config.max_failures]} in a row",
        f"except the newest {kept_on_overflow():,} tokens",
        f"at most {MOST_FILES} and {MOST_VARIABLES}",
        f"at most {words[config.max_ptl_retries]}",
        f"Failures that pass are repeated {words[TRANSIENT_RETRIES]}",
        f"at most {config.max_output_tokens:,} tokens",
        f"says nothing for {config.silence_seconds:.0f} seconds",
        f"the last {words[restored.max_files_to_restore]} files",
        f"at most {restored.file_token_per_file_cap:,} tokens each and {restored.file_token_budget:,} in all",
        f"the last {restored.max_variables_to_restore} variables",
        f"{restored.variable_token_per_variable_cap} tokens each, {restored.variable_token_budget:,} in all",
        f"more than {percent(RESTORE_SHARE)} of the window",
    ]


def budgets() -> list[str]:
    from zidane_lab.agent.budgets import WARN_AT
    from zidane_lab.chat.settings import Settings

    return [f"At {percent(WARN_AT)} a line in the cell says so", f"`max_turns`, {Settings().max_turns} unless changed"]


def reliability() -> list[str]:
    from zidane_lab.agent.fallback import COOLDOWN_SECONDS
    from zidane_lab.agent.guards.local_reliability import local_reliability
    from zidane_lab.agent.guards.repeat_guard import ABORT_AT, BLOCK_AT, LONGEST_CYCLE, NOTE_AT
    from zidane_lab.agent.nudges import ProgressNudges
    from zidane_lab.agent.resume import ResumePolicy
    from zidane_lab.agent.retry import RetryPolicy

    retry, resume, local = RetryPolicy(), ResumePolicy(), local_reliability()
    words = {3: "third", 4: "fourth", 5: "fifth", 8: "eighth"}
    assert (retry.max_retries, retry.max_delay, COOLDOWN_SECONDS) == (3, 60.0, 300.0)
    assert [retry.seconds(n, None, 0.5) for n in (1, 2, 3)] == [2.0, 4.0, 8.0]
    assert (LONGEST_CYCLE, NOTE_AT, BLOCK_AT, ABORT_AT) == (3, 3, 5, 8)
    assert ProgressNudges().same_errors == 3
    return [
        "Up to three, after about 2, 4 and 8 seconds",
        "up to a minute",
        "five minutes if the service does not say",
        f"up to {resume.most_length_resumes} times in a row",
        f"the {words[resume.most_empty]} in a row fails the run",
        f"up to {resume.pause_resumes} times in a row",
        "cycle of up to three calls",
        f"at the {words[NOTE_AT]} and {words[BLOCK_AT - 1]} time the model is told, the {words[BLOCK_AT]} is refused",
        f"after the {words[ABORT_AT]}",
        f"after {ProgressNudges().silent_turns} answers with calls",
        f"{local['guards'].tool_output_budget // 1024} KB of tool text",
        f"{local['read_file_defaults']['limit']} lines of a file",
    ]


def files() -> list[str]:
    from zidane_lab.tools import grep
    from zidane_lab.tools.edits.files import MAX_BYTES
    from zidane_lab.tools.pages import PAGE_BYTES
    from zidane_lab.tools.read_file import DEFAULT_LIMIT

    return [
        f"the first {DEFAULT_LIMIT} lines",
        f"A page holds at most {PAGE_BYTES // 1024} KB",
        f"After {grep.TIME_LIMIT:.0f} seconds `grep`",
        f"those of more than {MAX_BYTES // 1_048_576} MB",
    ]


def shell_and_tasks() -> list[str]:
    from zidane_lab.agent.task_notices import MOST_PROLONGED
    from zidane_lab.contexts.bounded_log import LOG_BYTES
    from zidane_lab.contexts.tasks import MAX_RUNNING
    from zidane_lab.tools.shell import ShellOptions
    from zidane_lab.tools.shell_output import KEPT_BYTES
    from zidane_lab.tools.tasks import LONGEST_SECONDS

    assert (ShellOptions().nudge_after, ShellOptions().timeout, LONGEST_SECONDS, MOST_PROLONGED) == (60, None, 600, 5)
    return [
        f"At most {MAX_RUNNING} tasks run",
        f"up to {KEPT_BYTES // 1_048_576} MB of a command",
        f"up to {LOG_BYTES // 1_048_576} MB each",
    ]


TOLD = [context, compaction, budgets, reliability, files, shell_and_tasks]


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.__name__)
def test_numbers_are_those_of_the_code(told):
    text = page(f"{told.__name__.replace('_', '-')}.md")
    for words in told():
        assert words in text, words


def test_every_reason_to_leave_a_conversation_alone_is_told():
    from typing import get_args

    from zidane_lab.compaction.decision import SkipReason

    told = re.findall(r"\| `([\w-]+)` \|", page("compaction.md").split("| reason | means |")[1].split("It does not")[0])
    assert told == list(get_args(SkipReason))


def test_every_error_of_a_service_is_told():
    from zidane_lab import errors

    text = page("reliability.md").split("| class | when |")[1].split("## Retries")[0]
    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.ProviderError)
    ]
    for kind in kinds:
        assert f"`{kind.__name__}`" in text or kind is errors.ProviderError, kind
    for row in re.findall(r"\| (`\w+`(?:, `\w+`)?) \| [^|]+ \| (\w+)", text):
        for name in re.findall(r"`(\w+)`", row[0]):
            assert getattr(errors, name)("x").retryable == (row[1] == "yes"), name
