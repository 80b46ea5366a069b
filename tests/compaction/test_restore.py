from __future__ import annotations

import asyncio

import pytest

from zidane_lab.compaction.restore import (
    ActiveSkill,
    ExtraCall,
    PostCompactRestoreOptions,
    append_attachments,
    build_post_compact_attachments,
)
from zidane_lab.compaction.working_set import RecentFile, UsedVariable, select_files_from_session
from zidane_lab.errors import AbortedError, KernelLostError, SessionError, ToolInputError
from zidane_lab.session.session import Session
from zidane_lab.session.store import MemoryStore
from zidane_lab.tools.base import ToolOutput
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, Turn
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.envelope import ENVELOPE
from zidane_lab.wire.pairing import repair_pairing
from zidane_lab.wire.tokens import estimate_block

pytestmark = pytest.mark.asyncio


def files(*names, folder="/w"):
    return tuple(RecentFile(f"{folder}/{name}", 100.0 - index) for index, name in enumerate(names))


def reader(contents):
    async def read(file):
        content = contents[file.path.rpartition("/")[2]]
        if isinstance(content, BaseException):
            raise content
        return content if isinstance(content, ToolOutput) else ToolOutput((TextBlock(content),))

    return read


class Kernel:
    def __init__(self, **values):
        self.values, self.asked = values, []

    async def execute(self, code, *, timeout=None):
        raise AssertionError("nothing is run")

    async def list_variables(self, *, pattern=None, limit=200):
        raise AssertionError("not asked for")

    async def inspect_variable(self, name, *, budget=4000):
        self.asked.append((name, budget))
        value = self.values.get(name, ToolInputError(f"There is no variable {name}."))
        if isinstance(value, BaseException):
            raise value
        return value


def variables(*names, certain=True):
    return tuple(UsedVariable(name, certain) for name in names)


async def test_files_come_back_as_calls_and_results_that_every_provider_accepts(tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    chosen = files("a.py", "b.py", folder=str(tmp_path))
    built = await build_post_compact_attachments(PostCompactRestoreOptions(recent_files=chosen, run_id="run_1"))
    asked, answered = built.turns
    assert [call.id for call in asked.tool_calls] == ["compact-restore-file-0", "compact-restore-file-1"]
    assert asked.tool_calls[0].input == {"path": f"{tmp_path}/a.py", "offset": 1, "limit": 300}
    assert [result.text for result in answered.tool_results] == ["# a.py\n", "# b.py\n"]
    assert {(turn.injected, turn.run_id) for turn in built.turns} == {("restore", "run_1")}
    assert repair_pairing(built.turns, strict=True) == built.turns
    assert (built.restored_files, built.files) == (2, (f"{tmp_path}/a.py", f"{tmp_path}/b.py"))
    assert built.estimated_tokens == sum(map(estimate_block, answered.blocks))


async def test_nothing_to_put_back_gives_no_turns():
    built = await build_post_compact_attachments(PostCompactRestoreOptions())
    assert built.turns == ()
    gone = {"a": OSError("gone"), "b": ToolOutput((TextBlock("no"),), is_error=True)}
    options = PostCompactRestoreOptions(recent_files=files("a", "b"), read_file=reader(gone))
    assert (await build_post_compact_attachments(options)).turns == ()


async def test_the_newest_five_files_but_those_excluded_refused_or_unreadable():
    names = [f"f{number}" for number in range(8)]
    contents = dict.fromkeys(names, "text") | {"f2": ValueError("odd")}
    options = PostCompactRestoreOptions(
        recent_files=files(*names),
        exclude_paths=("/w/f0",),
        allow=lambda path: path != "/w/f1",
        read_file=reader(contents),
    )
    built = await build_post_compact_attachments(options)
    assert built.files == ("/w/f3", "/w/f4", "/w/f5", "/w/f6")


async def test_a_long_file_is_cut_at_a_line_and_says_where_to_go_on():
    text = "".join(f"line {number}\n" for number in range(10_000))
    evidence = {"read": {"path": "/w/a", "offset": 1, "limit": 300, "mtime": 1.0, "size": 1}}
    output = ToolOutput((TextBlock(text),), metadata=evidence)
    options = PostCompactRestoreOptions(recent_files=files("a"), read_file=reader({"a": output}))
    built = await build_post_compact_attachments(options)
    (result,) = built.turns[1].tool_results
    assert estimate_block(result) <= 5_000
    shown, _, note = result.text.rpartition("\n[")
    assert text.startswith(shown + "\n")
    assert f"offset={shown.count(chr(10)) + 2} goes on" in note
    assert result.metadata["read"]["partial"]
    assert estimate_block(result) > 4_900


async def test_one_endless_line_is_cut_within_the_budget():
    options = PostCompactRestoreOptions(recent_files=files("a"), read_file=reader({"a": "é😀" * 50_000}))
    built = await build_post_compact_attachments(options)
    assert 4_900 < built.estimated_tokens <= 5_000


async def test_all_files_together_keep_to_their_budget_and_smaller_ones_still_fit():
    picture = ToolOutput((ImageBlock("image/png", b"x"),))
    contents = {"a": "x" * 8_000, "b": picture, "c": "x" * 4_000}
    options = PostCompactRestoreOptions(
        recent_files=files("a", "b", "c"), read_file=reader(contents), file_token_budget=3_010
    )
    built = await build_post_compact_attachments(options)
    assert built.estimated_tokens <= 3_010
    assert built.files[0] == "/w/a"
    assert "/w/c" in built.files


async def test_skills_are_put_back_within_their_own_budget():
    skills = [ActiveSkill(f"s{number}", "x" * 40_000) for number in range(7)] + [ActiveSkill("short", "do it")]
    built = await build_post_compact_attachments(PostCompactRestoreOptions(active_skills=skills))
    assert built.skills[:5] == ("s0", "s1", "s2", "s3", "s4")
    assert built.estimated_tokens <= 25_000
    calls = built.turns[0].tool_calls
    assert (calls[0].id, calls[0].name, calls[0].input) == ("compact-restore-skill-0", "skills_use", {"name": "s0"})
    assert "40,000 characters in all" in built.turns[1].tool_results[0].text
    assert all(estimate_block(result) <= 5_000 for result in built.turns[1].tool_results)


async def test_variables_are_described_as_they_are_now_and_lost_ones_are_named():
    kernel = Kernel(df="DataFrame, 3 × 2", odd=RuntimeError("its repr raises"))
    used = variables("df", "lost", "odd", "total") + variables("spoken", certain=False)
    built = await build_post_compact_attachments(PostCompactRestoreOptions(executor=kernel, variables=used))
    assert (built.variables, built.missing) == (("df",), ("lost", "total"))
    calls, results = built.turns[0].tool_calls, built.turns[1].tool_results
    assert [(call.id, call.input["name"]) for call in calls] == [
        ("compact-restore-variable-0", "df"),
        ("compact-restore-variable-1", "lost"),
    ]
    assert results[0].text == "DataFrame, 3 × 2"
    assert results[1].is_error
    assert results[1].text.startswith("No longer in the kernel: lost, total.")


async def test_variables_keep_to_their_number_and_their_budget():
    names = [f"v{number}" for number in range(50)]
    kernel = Kernel(**dict.fromkeys(names, "x" * 10_000))
    options = PostCompactRestoreOptions(executor=kernel, variables=variables(*names))
    built = await build_post_compact_attachments(options)
    assert len(built.variables) == 10
    assert built.estimated_tokens <= 5_000
    kernel = Kernel(**dict.fromkeys(names, "x"))
    options = PostCompactRestoreOptions(executor=kernel, variables=variables(*names))
    assert len((await build_post_compact_attachments(options)).variables) == 20


async def test_a_lost_kernel_costs_the_variables_and_nothing_else():
    kernel = Kernel(df=KernelLostError("The kernel died."))
    options = PostCompactRestoreOptions(
        executor=kernel, variables=variables("df", "x"), recent_files=files("a"), read_file=reader({"a": "text"})
    )
    built = await build_post_compact_attachments(options)
    assert (built.variables, built.files, len(kernel.asked)) == ((), ("/w/a",), 1)


async def test_extra_calls_come_last_and_cost_no_budget():
    extra = ExtraCall("todoread", {}, (TextBlock("x" * 400_000),))
    options = PostCompactRestoreOptions(extra_calls=[extra], executor=Kernel(a="1"), variables=variables("a"))
    built = await build_post_compact_attachments(options)
    assert [call.name for call in built.turns[0].tool_calls] == ["inspect_variable", "todoread"]
    assert built.estimated_tokens > 100_000


@pytest.mark.parametrize("stop", [AbortedError("stopped"), asyncio.CancelledError()])
async def test_a_stop_passes(stop):
    for options in (
        PostCompactRestoreOptions(recent_files=files("a"), read_file=reader({"a": stop})),
        PostCompactRestoreOptions(executor=Kernel(x=stop), variables=variables("x")),
    ):
        with pytest.raises(type(stop)):
            await build_post_compact_attachments(options)


async def test_the_same_state_gives_the_same_calls_and_a_key_tells_compactions_apart():
    options = PostCompactRestoreOptions(key="2", recent_files=files("a"), read_file=reader({"a": "text"}))
    first, second = [await build_post_compact_attachments(options) for _ in range(2)]
    assert first.turns[0].blocks == second.turns[0].blocks
    results, again = (turns[1].tool_results for turns in (first.turns, second.turns))
    assert [(each.call_id, each.parts) for each in results] == [(each.call_id, each.parts) for each in again]
    tags = {each.metadata[ENVELOPE] for each in (*results, *again)}
    assert len(tags) == len(results) + len(again), "each has an envelope of its own"
    assert first.turns[0].tool_calls[0].id == "compact-restore-file-0-2"


async def test_a_second_compaction_of_one_session_does_not_clash_even_without_a_key(tmp_path):
    (tmp_path / "a").write_text("text\n")
    session = Session.memory()
    session.append(Turn("user", (TextBlock("go"),)))
    options = PostCompactRestoreOptions(recent_files=files("a", folder=str(tmp_path)))
    for _ in range(2):
        stored = append_attachments(session, await build_post_compact_attachments(options))
        assert [call.id for call in stored[0].tool_calls] == [result.call_id for result in stored[1].tool_results]
    ids = [call.id for turn in session.turns for call in turn.tool_calls]
    assert ids == ["compact-restore-file-0", "compact-restore-file-0_r1"]
    assert repair_pairing(wire_turns(session.turns), strict=True)
    assert [file.path for file in select_files_from_session(session, tmp_path)] == [str(tmp_path / "a")]


async def test_a_disk_that_fails_leaves_a_whole_conversation():
    class Failing(MemoryStore):
        failed = False

        def append(self, entries):
            if not self.failed:
                self.failed = True
                raise SessionError("The disk is full.")

    session = Session(Failing(Session.memory().header))
    options = PostCompactRestoreOptions(recent_files=files("a"), read_file=reader({"a": "text"}))
    built = await build_post_compact_attachments(options)
    with pytest.raises(SessionError, match="full"):
        append_attachments(session, built)
    assert [turn.role for turn in session.turns] == ["assistant", "user"]
    session.close()
    with pytest.raises(SessionError, match="closed"):
        append_attachments(session, built)
    assert len(session.turns) == 2


async def test_no_attachments_append_nothing():
    session = Session.memory()
    assert append_attachments(session, await build_post_compact_attachments(PostCompactRestoreOptions())) == ()
    assert not any(isinstance(block, ToolCallBlock) for turn in session.turns for block in turn.blocks)
