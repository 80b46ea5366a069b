"""Two hundred credentials, everywhere a day's work may meet them: none reaches the model, a file, a log or the page."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import shlex
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

from tests.notebook.support import Page
from tests.secrets.seeds import secrets
from zidane_lab.approvals.decisions import Answer
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.place import Place
from zidane_lab.cli.output import EventLines, Pipe
from zidane_lab.kernel.embedded import embedded_shell
from zidane_lab.kernel.live import LiveExecutor
from zidane_lab.notebook.render import CellRenderer
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.secrets.vault import PLACEHOLDER

SEEDS = secrets(200, seed=7)
VARIABLE, CELL, FILE, ERROR, ENVIRONMENT, PRINTED, PASTED, COMMAND = (SEEDS[start::8] for start in range(8))


def forms(value: str) -> set[str]:
    """The ways a credential could be spelled out: as it is, in a repr, in an address, in base64, in hex."""
    data = value.encode()
    out = {
        value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        data.hex(),
        base64.b64encode(data).decode(),
    }
    for shift in (1, 2):
        out.add(base64.b64encode(b"\0" * shift + data).decode()[4:-4])
    if "\n" in value:
        out |= {line for line in value.split("\n") if len(line) > 30 and "---" not in line}
    return {each for each in out if len(each) >= 8}


def leaks(where: str, text: str) -> list[str]:
    return [f"{name} in {where}" for name, _, value in SEEDS if any(each in text for each in forms(value))]


class Recorded(ScriptedProvider):
    """What a service would have been sent."""

    @property
    def sent(self) -> str:
        return "\n".join(repr((request.system, request.turns, request.tools)) for request in self.requests)


@pytest.fixture
def day(tmp_path, monkeypatch):
    """A project folder, a kernel and an environment full of credentials."""
    for name, _, value in ENVIRONMENT:
        monkeypatch.setenv(f"{name.upper().replace('-', '_')}_SECRET_KEY", value)
    project = tmp_path / "project"
    project.mkdir()
    for index, (name, text, _) in enumerate(FILE):
        kind = ("txt", "py", "json")[index % 3]
        body = {"txt": text, "py": f"VALUE = {text!r}\n", "json": json.dumps({"note": text})}[kind]
        (project / f"{name}.{kind}").write_text(f"# {name}\n{body}\n", encoding="utf-8")
    filler = "".join(f"line {n} of the log\n" for n in range(6_000))
    (project / "long.log").write_text(filler + "\n".join(text for _, text, _ in FILE) + "\n" + filler, encoding="utf-8")
    (project / "secret-notes.md").write_text("\n\n".join(text for _, text, _ in FILE), encoding="utf-8")
    namespace = {f"v_{index}": text for index, (_, text, _) in enumerate(VARIABLE)}
    namespace |= {
        "nested": {"cells": [{"text": text} for _, text, _ in VARIABLE]},
        "np_text": [text for _, text, _ in CELL],
    }
    namespace["frame"] = pd.DataFrame({"n": range(len(CELL)), "text": [text for _, text, _ in CELL]})
    return project, namespace


def code_of_the_day() -> list[str]:
    errors = [text for _, text, _ in ERROR]
    return [
        "for name in sorted(globals()):\n    if name.startswith('v_'):\n        print(name, '=', globals()[name])",
        "nested",
        "import pprint; pprint.pprint(nested, width=60)",
        "frame",
        "pd = type(frame); print(frame.to_string()); print(frame.to_csv()); print(frame.to_json())",
        "import pandas; pandas.set_option('display.max_colwidth', 60); frame",
        "frame.text.str[:40].tolist()",
        "import os; print(dict(os.environ))",
        "os.environ",
        f"def fail(texts):\n    raise ValueError('cannot use ' + ' | '.join(texts))\nfail({errors[:12]!r})",
        f"problems = {errors[12:]!r}\nimport warnings; warnings.warn(problems[0])\nraise RuntimeError(problems) from KeyError(problems[-1])",
        "import sys\nfor name in np_text: sys.stderr.write(name + '\\n')",
        "show = get_ipython().display_pub.publish; show({'text/markdown': f'**{v_0}**', 'text/html': v_1})",
        "show({'application/json': {'a': [v_2]}})",
        "import base64, urllib.parse\nfor each in np_text:\n    print(urllib.parse.quote(each), base64.b64encode(each.encode()).decode(), each.encode().hex())",
        "for char in v_3 + ' end': print(char, end='')",
        "print(('x' * 200 + '\\n') * 400 + '\\n'.join(np_text) + ('\\n' + 'y' * 200) * 400)",
        "!env | sort",
        "%%bash\ncat *.txt *.py; echo done >&2",
    ]


def script(project: Path):
    answers = [call("run_python", code=code, intent="look") for code in code_of_the_day()]
    answers += [call("list_variables"), call("inspect_variable", name="nested"), call("inspect_variable", name="frame")]
    answers += [call("read_file", path=path.name) for path in sorted(project.iterdir())[:6]]
    answers += [call("grep", pattern="VALUE|note"), call("shell", command="cat *.json *.log; env; cat nothing-here")]
    answers += [call("shell", command="\n".join(f"echo {shlex.quote(text)}" for _, text, _ in COMMAND))]
    answers += [call("read_file", path="there is no such file " + COMMAND[0][2][:60])]

    def use(request):
        """Write a file with the first credential the model was told of."""
        known = PLACEHOLDER.search(request.turns[0].text)
        return call("write_file", path="made.txt", content=f"token={known[0] if known else 'none'}\n")

    return [*answers, use, call("shell", command="cat made.txt"), "Done."]


async def allow(_question):
    return Answer("once")


async def spend(day, tmp_path, monkeypatch, capsys, *, guarded):
    """Work for a day in a conversation, and return everything that could be read by others afterwards, by place."""
    project, namespace = day
    monkeypatch.chdir(project)
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"secrets": "on" if guarded else "off"}))
    monkeypatch.setenv("ZIDANE_HOME", str(home))
    chat = Chat(Place(project / "day.ipynb", project, "test"))
    shell = embedded_shell(namespace)
    drawn = Page()
    shell.display_pub.publish = lambda data, metadata=None, **_: drawn.show(data)
    monkeypatch.setattr(type(shell.display_pub), "publish", lambda _self, data, _metadata=None, **_: drawn.show(data))
    events, page, asked = io.StringIO(), Page(), []
    answers = script(project)
    provider = chat._providers._made["scripted"] = Recorded(answers, chunk_size=7)

    async def ask(question):
        asked.append(repr(question))
        return await allow(question)

    await chat.ask(
        "\n".join(text for _, text, _ in (*PASTED, *PRINTED)) + "\n@nested @frame @secret-notes.md",
        AskOptions(model="scripted/day"),
        executor=LiveExecutor(shell),
        ask=ask,
        bundles=[EventLines(Pipe(events)), CellRenderer(page)],
    )
    folder = chat.folder
    await chat.close()
    assert len(provider.requests) == len(answers)
    out, err = capsys.readouterr()
    places = {"requests": provider.sent, "events": events.getvalue(), "stdout": out, "stderr": err}
    places["questions"] = "\n".join(asked)
    for name, sends in (("cards", page.sends), ("displays", drawn.sends)):
        places[name] = "\n".join("\n".join(map(str, bundle.values())) for _, _, bundle in sends)
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            where = path.parent.name if path.suffix != ".jsonl" else "session"
            places[where] = f"{places.get(where, '')}\n{text}"
    return places


@pytest.mark.slow
@pytest.mark.asyncio
async def test_none_leaves(day, tmp_path, monkeypatch, capsys):
    places = await spend(day, tmp_path, monkeypatch, capsys, guarded=True)
    assert [leak for where, text in places.items() for leak in leaks(where, text)] == []
    assert {
        "requests",
        "events",
        "stdout",
        "stderr",
        "cards",
        "displays",
        "session",
        "outputs",
        "questions",
    } <= places.keys()
    assert all(
        "[secret:" in places[where]
        for where in ("requests", "events", "stdout", "cards", "displays", "session", "questions")
    )
    made = (day[0] / "made.txt").read_text(encoding="utf-8")
    assert any(value in made for _, _, value in PASTED), "a tool gets the real value"


@pytest.mark.slow
@pytest.mark.asyncio
async def test_without_a_guard_they_all_do(day, tmp_path, monkeypatch, capsys):
    """What the day brings forth does hold them: else the test above would prove nothing."""
    places = await spend(day, tmp_path, monkeypatch, capsys, guarded=False)
    out = {leak.partition(" in ")[0] for where, text in places.items() for leak in leaks(where, text)}
    assert len(out) == len(SEEDS)
    for where in ("requests", "events", "stdout", "stderr", "cards", "displays", "session", "outputs", "questions"):
        assert leaks(where, places[where]), where


def test_the_search_itself_finds_what_leaks():
    rng = random.Random(0)
    for name, text, value in SEEDS:
        for form in (text, repr(value), base64.b64encode(value.encode()).decode(), quote(value, safe="")):
            assert any(found.startswith(f"{name} ") for found in leaks("x", f"{rng.random()} {form} end"))
    assert len({value for _, _, value in SEEDS}) == 200
    assert len({re.sub(r"-\d+$", "", name) for name, _, _ in SEEDS}) > 150
