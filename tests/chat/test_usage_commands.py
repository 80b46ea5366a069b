"""``/usage`` and ``/context``: what was spent and what fills the window, kept apart and never made up."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest

import zidane_lab.chat.builtin_commands  # noqa: F401 - registers the commands in their order
from zidane_lab.agent.context_breakdown import CATEGORIES, ContextSegment, context_breakdown
from zidane_lab.chat import usage_commands
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.commands import COMMANDS, CommandContext, run_command
from zidane_lab.chat.context_report import _COLOURS, context_report
from zidane_lab.chat.place import Place
from zidane_lab.chat.references import resolve
from zidane_lab.chat.report import to_html, to_markdown
from zidane_lab.chat.usage_commands import count_request, parse_days
from zidane_lab.chat.usage_report import days_report, session_report, usage_words
from zidane_lab.errors import ConfigurationError, RateLimitError
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.session import Session, sessions_folder
from zidane_lab.session.state import RunRecord
from zidane_lab.session.usage import UsageAssistantDayRow, UsageBuckets, UsageSessionDayRow, UsageUserDayRow
from zidane_lab.session.usage_stats import Answer
from zidane_lab.turns import CompactSummaryBlock, TextBlock, Turn, Usage
from zidane_lab.wire.build import wire_turns

LOOK = ToolSpec("look", "Looks at things.", {"type": "object"})


class TellingChat(Chat):
    """A chat that says what it would send."""

    def next_request(self):
        return Request("m", "Be brief. " * 40, self.session.turns, (LOOK,))

    def window(self):
        return 100_000


@pytest.fixture
def chat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chat = TellingChat(Place(tmp_path / "work.ipynb", tmp_path, "told"), env={"ZIDANE_HOME": str(tmp_path / "home")})
    yield chat
    if chat._session is not None:
        chat._session.close()


def script(tmp_path, *answers, name="s.json"):
    (tmp_path / name).write_text(json.dumps({"answers": list(answers)}))
    return f"scripted/{name}"


async def ask(chat, prompt, **options):
    async def nobody(_question):
        return None

    return await chat.ask(prompt, AskOptions(**options), executor=None, ask=nobody)


async def told(chat, text):
    return await run_command(text, CommandContext(chat))


def answer(**usage):
    return Turn("assistant", (TextBlock("ok"),), usage=Usage(**usage), model="a/x")


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(10, 5, 90), "in 100 (cache 90) / 5 out"),
        (Usage(1_000, 5, cost=0.5), "in 1,000 / 5 out · $0.5000"),
        (Usage(1, 1, cost=0.0), "in 1 / 1 out"),
        (Usage(1, 1, cost=0.0000001), "in 1 / 1 out · <$0.0001"),
    ],
)
def test_the_words_of_a_usage(usage, words):
    assert usage_words(usage) == words


@pytest.mark.parametrize(("text", "days"), [("", None), ("--days 7", 7), ("--days=1", 1), ("  --days   30 ", 30)])
def test_days_are_read(text, days):
    assert parse_days(text) == days


@pytest.mark.parametrize(
    "text",
    ["7", "--days", "--days 0", "--days -1", "--days x", "--days 1 2", "--days 99999999", "--dyas 3", "--days ٣"],
)
def test_what_is_not_days_is_refused(text):
    with pytest.raises(ConfigurationError, match="--days N"):
        parse_days(text)


# --- /usage ---------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_context_now_and_spent_in_all_are_told_apart(chat, tmp_path):
    first, second = {"input": 10, "output": 5, "cache_read": 90}, {"input": 20, "output": 7, "cache_read": 100}
    model = script(tmp_path, {"text": "x", "usage": first}, {"text": "y", "usage": second})
    await ask(chat, "hi", model=model)
    await ask(chat, "and?", model=model)
    reply = await told(chat, "/usage")
    assert "**Context now**: 120 tokens" in reply.text
    assert "**Spent in all**: in 220 (cache 190) / 12 out." in reply.text
    assert reply.text.count("in 100 (cache 90) / 5 out") == 1
    assert "| `scripted/s.json` | 2 |" in reply.text
    assert "$" not in reply.text
    assert "120 tokens" in reply.html
    assert "<script" not in reply.html


@pytest.mark.asyncio
async def test_branches_left_behind_were_paid_too(chat):
    session = chat.session
    session.start_run("hi", model="a/x")
    question = session.append(Turn("user", (TextBlock("hi"),), run_id="run_1"))
    session.append(answer(input=100))
    session.move_to(question.id)
    session.append(answer(input=30))
    text = (await told(chat, "/usage")).text
    assert "**Context now**: 30 tokens" in text
    assert "**Spent in all**: in 130 / 0 out" in text


@pytest.mark.asyncio
async def test_nothing_asked_yet(chat):
    assert "Nothing has been asked" in (await told(chat, "/usage")).text


def test_a_run_without_an_end_shows_what_its_turns_used():
    at = datetime(2026, 3, 1, tzinfo=UTC)
    runs = [RunRecord("run_1", model="a/x", status="interrupted")]
    text = to_markdown(session_report(runs, [Answer(at, "a/x", Usage(50, 5, cost=0.1), run_id="run_1")], 50))
    assert "| `run_1` | `a/x` | interrupted | in 50 / 5 out | $0.1000 |" in text


def test_summaries_and_unknown_prices_are_told():
    at = datetime(2026, 3, 1, tzinfo=UTC)
    answers = [
        Answer(at, "a/x", Usage(100, 10, cost=0.5)),
        Answer(at, "a/small", Usage(70, 7), is_summary=True),
    ]
    text = to_markdown(session_report([], answers, 100))
    assert "for one summary of earlier turns: in 70 / 7 out" in text
    assert "The price of one call is not known" in text
    assert "| `a/small` | 0 |" in text
    free = to_markdown(session_report([], answers[1:], 100))
    assert "price" not in free
    assert "$" not in free


@pytest.mark.asyncio
async def test_days_sum_up_all_notebooks_here(chat, tmp_path):
    other = Session.create(sessions_folder(notebook=tmp_path / "sub" / "other.ipynb"))
    other.append(Turn("user", (TextBlock("hi"),)))
    other.append(answer(input=1_000, output=10, cost=0.25))
    other.close()
    await ask(chat, "hi", model=script(tmp_path, {"text": "x", "usage": {"input": 10, "output": 5}}))
    for text in ("/usage --days 7", "/usage --days=1"):
        reply = await told(chat, text)
        assert "2 sessions begun, 2 messages of yours, 2 answers; in 1,010 / 15 out · $0.2500" in reply.text
        assert "| `sub/other` |" in reply.text
        assert "| `work` |" in reply.text
        assert "`a/x`" in reply.text
        assert "█" * 20 in reply.text
        assert "The price of one call is not known" in reply.text
        assert "1,010" in reply.html


ROW = {"input": 10, "output": 1, "cache_read": 0, "cache_creation": 0, "cost": None, "turns": 1}


def row(day, **more):
    return UsageAssistantDayRow(**({"day": day, "model": "a/x", "notebook": "n"} | ROW | more))


def days(buckets, since=date(2026, 3, 1), until=date(2026, 3, 31)):
    return to_markdown(days_report(buckets, "/f", since, until))


def test_days_without_use_between_others_are_drawn():
    text = days(UsageBuckets((row("2026-03-03"), row("2026-03-06"))))
    assert [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| 2026")] == [
        "| 2026-03-03", "| 2026-03-04", "| 2026-03-05", "| 2026-03-06"
    ]  # fmt: skip


def test_in_a_long_time_only_days_of_use_are_drawn():
    text = days(UsageBuckets((row("2020-03-03"), row("2026-03-06"))), since=date(2000, 1, 1))
    assert sum(line.startswith("| 20") for line in text.splitlines()) == 2


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "2026-04-02"])
def test_days_of_clocks_gone_wrong_are_shown_as_they_are(day):
    assert f"| {day} |" in days(UsageBuckets((row(day),)))


def test_no_usage_and_damage_are_told():
    problems = tuple(f"file{n}: damaged" for n in range(13))
    text = days(UsageBuckets(problems=problems))
    assert "**No usage** below `/f`" in text
    assert "`file9: damaged`" in text
    assert "and 3 more." in text
    assert "file11" not in text


def test_only_messages_and_sessions_make_a_report_too():
    buckets = UsageBuckets(
        sessions=(UsageSessionDayRow("2026-03-02", "n", 2),), user=(UsageUserDayRow("2026-03-02", 23, "n", 3),)
    )
    text = days(buckets)
    assert "2 sessions begun, 3 messages of yours, 0 answers; in 0 / 0 out." in text
    assert f"`{'·' * 23}█`" in text


def test_names_of_models_and_notebooks_are_foreign_text():
    text = days(UsageBuckets((row("2026-03-02", model="<b>|x`", notebook="[a](b)"),)))
    assert "`<b>\\|x'`" in text
    assert "`[a](b)`" in text


# --- /context -------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_context_of_a_conversation(chat, tmp_path):
    usage = {"input": 150, "output": 4}
    await ask(chat, "words " * 40, model=script(tmp_path, {"text": "well " * 4, "usage": usage}))
    reply = await told(chat, "/context")
    assert "| system prompt | ~" in reply.text
    assert "| what you said | ~" in reply.text
    assert "of 100,000" in reply.text
    assert "| kept for the answer | 20,000 | 20.0% |" in reply.text
    assert "counted 150 tokens" in reply.text
    assert 'role="img"' in reply.html
    assert "system prompt" in reply.html


@pytest.mark.asyncio
async def test_the_call_that_wrote_a_summary_says_nothing_of_the_prompt(chat):
    chat.session.append(Turn("user", (TextBlock("word" * 100),)))
    chat.session.append(answer(input=150))
    chat.next_request = lambda: Request("m", "", (*chat.session.turns, Turn("user", (TextBlock("x"),), usage=Usage(9))))
    assert "counted 150 tokens" in (await told(chat, "/context")).text


@pytest.mark.asyncio
async def test_context_before_the_first_prompt_is_estimated(chat):
    text = (await told(chat, "/context")).text
    assert "| system prompt | ~100 |" in text
    assert "four characters as one token" in text


@pytest.mark.asyncio
async def test_a_summary_is_known_though_it_is_sent_as_text(chat):
    chat.session.append(Turn("user", (CompactSummaryBlock("so far " * 20),)))
    chat.next_request = lambda: Request("m", "", wire_turns(chat.session.turns))
    assert "| summaries | ~64 |" in (await told(chat, "/context")).text


@pytest.mark.asyncio
async def test_attachments_are_found_as_the_chat_writes_them(chat, tmp_path):
    (tmp_path / "notes.txt").write_text("some notes " * 50)
    attached = await resolve("see @notes.txt", None, tmp_path)
    turn = Turn("user", (TextBlock("see @notes.txt"), TextBlock(attached)))
    breakdown = context_breakdown("", (), (turn,))
    files = next(each for each in breakdown.segments if each.category == "files")
    assert files.tokens > 130
    assert [item.label for item in files.items] == ["@notes.txt"]


class Counting:
    """A provider that counts a token for each character."""

    def __init__(self, error=None):
        self.requests, self.closed, self.error = [], False, error

    async def count_tokens(self, request):
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        words = "".join(turn.text for turn in request.turns)
        return len(request.system) + sum(len(tool.description) for tool in request.tools) + len(words)

    async def aclose(self):
        self.closed = True


@pytest.fixture
def counting(monkeypatch):
    provider = Counting()
    monkeypatch.setattr(usage_commands, "create_provider", lambda name, env: provider)
    return provider


def talk(chat, model):
    chat.session.set_model(model)
    chat.session.append(Turn("user", (TextBlock("hello"),)))
    chat.session.append(Turn("assistant", (TextBlock("hi"),), model=model))


@pytest.mark.asyncio
async def test_a_provider_that_counts_makes_numbers_exact(chat, counting):
    talk(chat, "a/x")
    text = (await told(chat, "/context")).text
    assert f"**Next request** to `a/x`: {400 + 16 + 7} tokens of 100,000" in text
    assert "| system prompt | 400 |" in text
    assert "| tools | 16 |" in text
    assert "| what you said | ~" in text
    assert "counted by `a`" in text
    assert counting.closed
    assert len(counting.requests) == 4


@pytest.mark.asyncio
async def test_a_conversation_is_not_sent_anywhere_new_to_be_counted(chat, counting):
    talk(chat, "local/x")
    chat.session.set_model("a/x")
    assert "four characters" in (await told(chat, "/context")).text
    assert counting.requests == []


@pytest.mark.asyncio
async def test_a_service_that_cannot_count_is_told_and_sizes_are_estimated(chat, counting):
    counting.error = RateLimitError("a: wait <b>a bit</b>")
    talk(chat, "a/x")
    text = (await told(chat, "/context")).text
    assert "could not be asked to count: `a: wait <b>a bit</b>`" in text
    assert "| system prompt | ~100 |" in text
    assert counting.closed


@pytest.mark.asyncio
async def test_a_service_that_stays_silent_is_given_up(chat, counting, monkeypatch):
    import asyncio

    async def silent(_request):
        await asyncio.Event().wait()

    counting.count_tokens = silent
    monkeypatch.setattr(usage_commands, "COUNT_SECONDS", 0.01)
    talk(chat, "a/x")
    assert "did not count" in (await told(chat, "/context")).text


@pytest.mark.asyncio
async def test_a_counter_may_be_a_plain_function():
    request = Request("m", "", (Turn("user", (TextBlock("hello"),)),))
    counts = await count_request(lambda each: 3 + len(each.turns[0].text), request)
    assert (counts.total, counts.system, counts.tools) == (8, 0, 0)


def test_too_long_and_unknown_windows_are_told():
    turns = (Turn("user", (TextBlock("word" * 90_000),)),)
    text = to_markdown(context_report(context_breakdown("", (), turns, window=100_000), "a/x"))
    assert "**Too long**: by 10,000 tokens" in text
    assert "| free |" not in text
    unknown = to_markdown(context_report(context_breakdown("", (), turns), "a/x"))
    assert "the model's window is not known" in unknown
    assert "| what you said | ~90,000 | 100.0% |" in unknown
    assert "empty" in to_markdown(context_report(context_breakdown("", (), ()), "a/x"))


def test_segments_of_others_are_foreign_text():
    extra = [ContextSegment("other", "<script>x</script>", 5, is_exact=True)]
    report = context_report(context_breakdown("", (), (), extra=extra, window=50_000), "a/x")
    assert "| `<script>x</script>` | 5 |" in to_markdown(report)
    assert "<script" not in to_html(report)


def test_every_kind_has_a_colour():
    assert set(_COLOURS) == set(CATEGORIES)
    assert len(set(_COLOURS.values())) == len(_COLOURS)


# --- a change of model ----------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_change_of_model_tells_what_is_read_anew(chat):
    assert "anew" not in (await told(chat, "/model offline")).text
    chat.session.append(Turn("user", (TextBlock("hello"),)))
    chat.session.append(answer(input=20, cache_read=12_000))
    assert "about 12,020 tokens anew" in (await told(chat, "/model offline")).text
    session = chat.session
    session.append(Turn("assistant", (), usage=Usage(5), model="offline/planner"))
    assert "anew" not in (await told(chat, "/model offline/planner")).text


def test_both_commands_are_in_the_help():
    assert COMMANDS["usage"].usage == "/usage [--days N]"
    assert COMMANDS["context"].usage == "/context"


@pytest.mark.parametrize("kind", ["elide", "compact-undo"])
def test_a_count_of_what_is_no_longer_sent_says_nothing_of_what_is(chat, kind):
    session = chat.session
    session.append(Turn("user", (TextBlock("word " * 4_000),)))
    session.append(Turn("assistant", (TextBlock("Read."),), usage=Usage(input=9_000, output=5), model="p/m"))
    assert usage_commands._measured(session) == Usage(input=9_000, output=5)
    session.record(kind, {"results": {"call_1": "[left out]"}, "turn": "t", "after": session.turns[-1].id})
    assert usage_commands._measured(session) is None


@pytest.mark.asyncio
async def test_what_was_put_back_does_not_hide_who_answered(chat, monkeypatch):
    session, asked = chat.session, []
    session.append(Turn("user", (TextBlock("q"),)))
    session.append(Turn("assistant", (TextBlock("a"),), model="scripted/s.json"))
    session.append(Turn("assistant", (TextBlock("put back"),), injected="restore"))
    monkeypatch.setattr(usage_commands, "create_provider", lambda *_a, **_k: asked.append(1) or _Counter())
    counts = await usage_commands._counts(chat, "scripted/s.json", chat.next_request())
    assert asked
    assert counts is not None


class _Counter:
    def count_tokens(self, _request):
        return 7

    async def aclose(self):
        pass
