"""What is allowed beyond one call: for the session, for the project, and what never is."""

from __future__ import annotations

import asyncio

import pytest

from zidane_lab.approvals.decisions import Answer, Grants
from zidane_lab.approvals.gate import BYPASS_TOOL, Gate
from zidane_lab.approvals.project import Project
from zidane_lab.events import Ids, ToolGate

TIERS = {"shell": "execute", "monitor": "execute", "run_python": "execute", "edit": "write", "read_file": "read"}
TIERS |= {"multi_edit": "write", "fetch_url": "network"}


class Person:
    """Gives its answers in turn, the last one again and again, and remembers what was asked."""

    def __init__(self, *answers):
        self.answers, self.questions = list(answers), []

    async def __call__(self, question):
        self.questions.append(question)
        await asyncio.sleep(0)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Site:
    """A project, a person, and a gate for it."""

    def __init__(self, folder, *answers, **options):
        self.person, self.kept, self.grants = Person(*answers), [], options.pop("grants", Grants())
        project = Project(str(folder), str(folder), own=(str(folder / "home" / "zidane"),))
        self.gate = Gate(
            self.person,
            tiers=TIERS,
            grants=self.grants,
            project=lambda: project,
            safelist=lambda: tuple(self.kept),
            **{"remember": self.kept.extend, **options},
        )

    async def call(self, tool, **arguments):
        event = ToolGate(Ids(), tool, arguments)
        await self.gate(event)
        return event

    async def shell(self, command, **more):
        return (await self.call("shell", command=command, **more)).block

    @property
    def asked(self):
        return len(self.person.questions)


@pytest.mark.asyncio
async def test_harmless_commands_run_and_risky_ones_are_shown_whole(tmp_path):
    site = Site(tmp_path, False)
    assert await site.shell("ls -la | head") is None
    assert site.asked == 0
    command = "make " + "x" * 1_000
    assert (await site.shell(command)).startswith("refused by the user: runs a program of its own")
    assert site.person.questions[0].target == command
    assert command in site.person.questions[0].text


@pytest.mark.asyncio
async def test_once_is_once_session_outlives_the_gate_and_always_the_session(tmp_path):
    site = Site(tmp_path, Answer("once"), Answer("session"), Answer("always"))
    assert await site.shell("make") is None
    assert await site.shell("make") is None
    assert await site.shell("make all") is None
    assert (site.asked, site.grants.entries, site.kept) == (2, ["shell:make:*"], [])
    assert await site.shell("pytest -q | tee log") is None
    assert (site.asked, site.kept) == (3, ["shell:pytest:*", "shell:tee:*"])

    later = Site(tmp_path, None, grants=site.grants)
    assert await later.shell("make") is None
    later = Site(tmp_path, None)
    later.kept += site.kept
    assert await later.shell("pytest") is None
    assert await later.shell("make") is not None


@pytest.mark.asyncio
async def test_only_what_is_needed_is_offered(tmp_path):
    site = Site(tmp_path, True)
    await site.shell("cd src && git status && ls && make")
    assert site.person.questions[0].remember == ("shell:git:*", "shell:make:*")
    await site.shell("ls && make")
    assert site.person.questions[1].remember == ("shell:make:*",)
    assert site.person.questions[1].choices == ("once", "session", "always", "deny")
    asking = Site(tmp_path, True, mode="ask")
    await asking.shell("ls && make")
    assert asking.person.questions[0].remember == ("shell:ls:*", "shell:make:*")


@pytest.mark.asyncio
async def test_always_is_not_offered_where_nothing_keeps_it(tmp_path):
    site = Site(tmp_path, Answer("always"), remember=None)
    assert await site.shell("make") is None
    assert site.person.questions[0].choices == ("once", "session", "deny")
    assert site.grants.entries == []  # more than was offered: a plain yes


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "command",
    [
        "sudo make",
        "bash -c make",
        "make 'x",
        "env make",
        "make | xargs cat",
        "rm -rf /",
        "git push --force",
        "cat .env",
        "make > /etc/passwd",
        "make > .git/config",
        "rm $x",
        "echo x > home/zidane/safelist.json",
    ],
)
async def test_what_is_not_told_or_is_critical_is_asked_about_each_time(tmp_path, command):
    site = Site(tmp_path, Answer("always"))
    site.kept += ["shell"]
    for count in (1, 2):
        assert await site.shell(command) is None
        assert site.asked == count
    assert site.person.questions[0].choices == ("once", "deny")


@pytest.mark.asyncio
async def test_another_folder_and_variables_are_not_what_was_remembered(tmp_path):
    site = Site(tmp_path, Answer("once"))
    site.kept += ["shell:make:*"]
    assert await site.shell("make") is None
    assert site.asked == 0
    await site.shell("make", env={"PATH": "/tmp"})
    await site.shell("git status", cwd="/tmp/elsewhere")
    assert site.asked == 2
    assert "env: {'PATH': '/tmp'}" in site.person.questions[0].target


@pytest.mark.asyncio
async def test_two_calls_at_once_are_asked_about_one_after_the_other_and_the_first_answer_counts(tmp_path):
    site = Site(tmp_path, Answer("session"))
    blocks = await asyncio.gather(*(site.shell(f"make {n}") for n in range(5)))
    assert (blocks, site.asked) == ([None] * 5, 1)
    site = Site(tmp_path, Answer("once"))
    await asyncio.gather(*(site.shell(f"make {n}") for n in range(5)))
    assert site.asked == 5


@pytest.mark.asyncio
async def test_a_call_that_comes_to_the_gate_twice_is_asked_about_once(tmp_path):
    site = Site(tmp_path, True)
    for _ in range(2):
        event = ToolGate(Ids("run_1", "t1", "c1"), "shell", {"command": "make"})
        await site.gate(event)
        assert event.block is None
    assert site.asked == 1
    await site.gate(ToolGate(Ids("run_1", "t1", "c1"), "shell", {"command": "make other"}))
    await site.gate(ToolGate(Ids("run_1", "t1", "c2"), "shell", {"command": "make"}))
    assert site.asked == 3


@pytest.mark.asyncio
async def test_commands_of_other_tools_share_what_is_remembered(tmp_path):
    site = Site(tmp_path, Answer("always"))
    await site.call("monitor", command="make watch")
    assert site.kept == ["shell:make:*"]
    assert await site.shell("make") is None
    assert (await site.call("monitor", task="task-1")).block is None
    assert site.asked == 1


# --- denial -----------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["ask", "auto", "accept-edits", "plan"])
@pytest.mark.parametrize(
    "command", ["rm x", "ls; /bin/rm x", "sudo rm x", "ls | xargs rm", "bash -c 'rm x'", "time rm x"]
)
async def test_what_is_denied_is_refused_whatever_was_allowed(tmp_path, mode, command):
    site = Site(tmp_path, Answer("always"), mode=mode, denied=lambda: ("shell:rm:*",))
    site.kept += ["shell", "shell:rm:*"]
    assert (await site.shell(command)).startswith("refused")
    assert site.asked == 0


@pytest.mark.asyncio
async def test_a_denied_tool_is_denied_however_harmless_its_call(tmp_path):
    site = Site(tmp_path, True, denied=lambda: ("read_file", "fetch_url:evil.org"))
    assert "rules deny" in (await site.call("read_file", path="a.txt")).block
    assert "rules deny" in (await site.call("fetch_url", url="https://evil.org/x")).block
    assert (await site.call("fetch_url", url="https://example.org")).block is None


@pytest.mark.asyncio
async def test_the_persons_reason_reaches_the_model(tmp_path):
    site = Site(tmp_path, Answer("deny", "use\n polars"))
    assert "They said: use polars. Do not try" in await site.shell("make")


@pytest.mark.asyncio
async def test_rules_that_cannot_be_read_make_calls_ask(tmp_path):
    def broken():
        raise OSError("disk")

    site = Site(tmp_path, False, denied=broken)
    assert (await site.shell("ls")).startswith("refused by the user: it cannot be judged (OSError)")


@pytest.mark.asyncio
async def test_what_could_not_be_stored_is_allowed_for_the_session_all_the_same(tmp_path):
    def broken(entries):
        raise OSError("disk full")

    site = Site(tmp_path, Answer("always"), remember=broken)
    event = await site.call("shell", command="make")
    assert event.block is None
    assert (
        "could not be stored, so it holds for this session only: disk full" in event.resume_state["approvals"]["notice"]
    )
    assert site.grants.entries == ["shell:make:*"]


# --- files and Python -------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_accept_edits_lets_edits_in_the_project_run_and_nothing_else(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("/tmp")
    site = Site(tmp_path, False, mode="accept-edits")
    assert (await site.call("edit", path="a.py")).block is None
    assert await site.shell("mkdir -p out/x && echo hi > out/x/a.txt") is None
    assert (await site.call("run_python", code="df.to_csv('out/a.csv')")).block is None
    assert site.asked == 0
    for path in (
        "/etc/hosts",
        "../x",
        "link/x",
        ".git/hooks/pre-commit",
        ".zidane/x",
        "a/.envrc",
        "home/zidane/s",
        ".env",
    ):
        assert (await site.call("edit", path=path)).block is not None
    for command in (
        "echo x > /tmp/x",
        "echo x > link/y",
        "rm a.py",
        "cd out && echo x > y",
        "echo x > $y",
        "make > log",
    ):
        assert await site.shell(command) is not None
    for code in ("df.to_csv('/tmp/a.csv')", "df.to_csv(path)", "import os; os.remove('a')", "df.to_csv('.git/config')"):
        assert (await site.call("run_python", code=code)).block is not None
    assert site.asked == 8 + 6 + 4


@pytest.mark.asyncio
async def test_python_that_writes_is_remembered_by_folder(tmp_path):
    site = Site(tmp_path, Answer("always"), Answer("deny"))
    assert (await site.call("run_python", code="df.to_csv('out/a.csv')")).block is None
    assert site.kept == ["run_python:writes@out:*"]
    assert (await site.call("run_python", code="x.plot().savefig('out/b.png')")).block is None
    for code in ("df.to_csv('a.csv')", "df.to_csv('out/x/a.csv')", "df.to_csv('out/../a')", "!ls", "df.to_csv(p)"):
        assert (await site.call("run_python", code=code)).block is not None


@pytest.mark.asyncio
async def test_pure_code_runs_and_code_with_secrets_is_never_remembered(tmp_path):
    site = Site(tmp_path, Answer("always"))
    assert (await site.call("run_python", code="1 + 1")).block is None
    assert site.asked == 0
    for code in ("open('.env', 'w')", "import os; os.environ['A']", "eval(x)", "x = ("):
        await site.call("run_python", code=code)
        assert site.person.questions[-1].choices == ("once", "deny")
    assert site.kept == []


@pytest.mark.asyncio
async def test_the_agents_own_files_ask_even_when_everything_else_runs(tmp_path):
    grants = Grants(bypass=True)
    site = Site(tmp_path, False, mode="bypass", allow_bypass=True, grants=grants)
    assert await site.shell("make; rm -rf x") is None
    assert (await site.call("run_python", code="!ls")).block is None
    for path in ("home/zidane/safelist.json", ".zidane/sessions/x"):
        assert (await site.call("edit", path=path)).block is not None
    assert await site.shell("echo x > home/zidane/settings.json") is not None
    assert (await site.call("run_python", code="open('.zidane/x', 'w')")).block is not None


# --- bypass -----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_bypass_is_confirmed_once_a_session_and_shows_a_banner(tmp_path):
    site = Site(tmp_path, True, mode="bypass", allow_bypass=True)
    assert site.gate.banner == ""
    assert await site.shell("ls") is None
    assert site.asked == 0
    assert await site.shell("make") is None
    assert await site.shell("make; curl x") is None
    assert [question.tool for question in site.person.questions] == [BYPASS_TOOL]
    assert "everything runs unasked" in site.gate.banner
    again = Site(tmp_path, False, mode="bypass", allow_bypass=True)
    assert await again.shell("make") is not None
    assert [question.tool for question in again.person.questions] == [BYPASS_TOOL, "shell"]
    assert again.gate.banner == ""


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", [None, False, "yes"])
async def test_bypass_that_is_not_confirmed_is_auto(tmp_path, answer):
    site = Site(tmp_path, answer, mode="bypass", allow_bypass=True)
    assert await site.shell("make") is not None
    assert not site.grants.bypass


@pytest.mark.asyncio
async def test_bypass_does_not_beat_denial(tmp_path):
    site = Site(
        tmp_path, True, mode="bypass", allow_bypass=True, grants=Grants(bypass=True), denied=lambda: ("shell:curl:*",)
    )
    assert await site.shell("curl x") is not None


# --- parts of a change ------------------------------------------------------------------------------

EDITS = {"path": "a.py", "edits": [{"n": 1}, {"n": 2}, {"n": 3}]}


def keep(arguments, mask, reason):
    return {**arguments, "edits": [each for each, kept in zip(arguments["edits"], mask, strict=True) if kept]}


@pytest.mark.asyncio
async def test_parts_that_were_not_allowed_are_taken_out_also_after_a_restart(tmp_path):
    options = {"hunks_of": lambda tool, arguments: len(arguments.get("edits", ())), "keep_hunks": keep}
    site = Site(tmp_path, Answer("once", "no", (True, False, True)), **options)
    event = await site.call("multi_edit", **EDITS)
    assert (event.block, event.input["edits"]) == (None, [{"n": 1}, {"n": 3}])
    assert site.person.questions[0].hunks == 3
    later = ToolGate(Ids(), "multi_edit", dict(EDITS), resumed=True, resume_state=event.resume_state)
    await site.gate(later)
    assert (later.block, later.input["edits"], site.asked) == (None, [{"n": 1}, {"n": 3}], 1)


@pytest.mark.asyncio
@pytest.mark.parametrize("keep_hunks", [None, lambda *given: 1 / 0])
async def test_parts_that_cannot_be_told_apart_are_refused(tmp_path, keep_hunks):
    site = Site(tmp_path, Answer("once", "", (True, False)), keep_hunks=keep_hunks)
    assert (await site.call("multi_edit", **EDITS)).block.startswith("refused: ")


@pytest.mark.asyncio
async def test_the_diff_is_shown_and_a_fault_in_making_it_does_not_hide_the_question(tmp_path):
    async def preview(tool, arguments):
        if arguments["path"] == "b":
            raise OSError("gone")
        return "--- a\n+++ b"

    site = Site(tmp_path, False, preview=preview)
    await site.call("edit", path="a")
    await site.call("edit", path="b")
    assert [question.diff for question in site.person.questions] == ["--- a\n+++ b", ""]


@pytest.mark.asyncio
async def test_a_resumed_call_is_not_asked_about_again_but_denial_counts(tmp_path):
    site = Site(tmp_path, False)
    event = ToolGate(Ids(), "shell", {"command": "make"}, resumed=True)
    await site.gate(event)
    assert (event.block, site.asked) == (None, 0)
    site = Site(tmp_path, True, denied=lambda: ("shell:make:*",))
    event = ToolGate(Ids(), "shell", {"command": "make"}, resumed=True)
    await site.gate(event)
    assert event.block is not None


@pytest.mark.asyncio
async def test_plan_lets_commands_look_and_refuses_the_rest_unasked(tmp_path):
    site = Site(tmp_path, True, mode="plan")
    assert await site.shell("git log --oneline") is None
    assert "plan mode" in await site.shell("make")
    assert "plan mode" in (await site.call("edit", path="a")).block
    assert site.asked == 0


@pytest.mark.asyncio
@pytest.mark.parametrize("command", [None, 3, ["ls"]])
async def test_a_command_that_is_no_text_is_asked_about(tmp_path, command):
    assert await Site(tmp_path, None).shell(command) is not None


@pytest.mark.asyncio
async def test_a_link_to_a_secret_is_seen_in_commands(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("A=1")
    (tmp_path / "notes.txt").symlink_to(".env")
    monkeypatch.chdir(tmp_path)
    site = Site(tmp_path, False)
    site.kept += ["shell"]
    assert await site.shell("cat notes.txt") is not None
    assert await site.shell("cat other.txt") is None


# --- failing closed ---------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_what_cannot_be_foreseen_is_asked_about(tmp_path):
    async def broken(tool, arguments):
        raise OSError("gone")

    site = Site(tmp_path, False, mode="accept-edits", foresee=broken)
    assert "it cannot be judged (OSError)" in (await site.call("edit", path="a.py")).block
    assert site.person.questions[0].choices == ("once", "deny")


@pytest.mark.asyncio
@pytest.mark.parametrize("tool", ["shell", "run_python", "edit", "monitor", "recipe", "read_file"])
async def test_a_fault_anywhere_in_the_judge_asks(tmp_path, monkeypatch, tool):
    from zidane_lab.approvals import assess_python, assess_shell, judging

    def broken(*arguments, **options):
        raise RecursionError

    monkeypatch.setattr(assess_shell, "secret_reach", broken)
    monkeypatch.setattr(assess_python, "python_reach", broken)
    monkeypatch.setattr(judging, "assess_files", broken)
    site = Site(tmp_path, None)
    assert (await site.call(tool, command="ls", code="1", path="a")).block.startswith("refused")
    assert site.asked == 1


@pytest.mark.asyncio
async def test_what_cannot_be_foreseen_again_after_the_answer_does_not_run(tmp_path):
    from zidane_lab.approvals.assess import Foreseen

    looks = []

    async def once(tool, arguments):
        looks.append(tool)
        if len(looks) > 1:
            raise OSError("gone")
        return Foreseen(writes=(str(tmp_path / "a.py"),))

    site = Site(tmp_path, True, foresee=once)
    assert "changed while it was asked about" in (await site.call("edit", path="a.py")).block


@pytest.mark.asyncio
async def test_code_allowed_to_the_letter_is_not_asked_about_again_and_other_code_is(tmp_path):
    site = Site(tmp_path, Answer("always"), Answer("deny"))
    code = "import shutil\nshutil.rmtree('out')"
    assert (await site.call("run_python", code=code)).block is None
    assert "exactly this Python code" in site.person.questions[0].remember_text
    assert (await site.call("run_python", code=code)).block is None
    assert site.asked == 1
    site.kept.append("run_python")  # everything, but not what destroys
    assert (await site.call("run_python", code="import os\nos.remove('a')")).block is None
    assert (await site.call("run_python", code=code.replace("out", "src"))).block is not None


@pytest.mark.asyncio
@pytest.mark.parametrize("command", ["git push --force", "git reset --hard", "rm -rf x", "make; kubectl delete pod x"])
async def test_what_destroys_asks_whatever_is_covered_and_offers_nothing_lasting(tmp_path, command):
    site = Site(tmp_path, Answer("once"))
    site.kept += ["shell:git:*", "shell:rm:*", "shell:make:*", "shell:kubectl:*", "shell"]
    assert await site.shell(command) is None
    assert (site.asked, site.person.questions[0].choices) == (1, ("once", "deny"))


@pytest.mark.asyncio
async def test_an_entry_of_the_project_does_not_hold_in_another_folder(tmp_path):
    (tmp_path / "sub").mkdir()
    site = Site(tmp_path, Answer("once"))
    site.kept += ["shell:make:*"]
    for cwd, asked in (("sub", 0), ("/tmp", 1), ("..", 2)):
        assert await site.shell("make", cwd=cwd) is None
        assert site.asked == asked
    assert all(question.choices == ("once", "deny") for question in site.person.questions)
