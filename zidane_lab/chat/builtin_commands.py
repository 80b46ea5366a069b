"""The built-in commands."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform

from zidane_lab.chat.commands import COMMANDS, CommandContext, Reply, command
from zidane_lab.chat.place import find_place
from zidane_lab.chat.report import table
from zidane_lab.chat.settings import KEYS, home, load_settings, save_setting, shown
from zidane_lab.chat.usage_report import usage_words
from zidane_lab.errors import ConfigurationError, ZidaneError
from zidane_lab.providers.catalog import model_info
from zidane_lab.providers.registry import create_provider, known_providers, split_model, usable_providers
from zidane_lab.session.listing import list_sessions
from zidane_lab.session.session import Session
from zidane_lab.session.usage_stats import context_now

__all__ = ["table"]


@command("help", "/help", "this list")
async def _help(_context: CommandContext, _arguments: str) -> Reply:
    rows = [
        (f"`%zidane {entry.usage}`", entry.summary) for entry in sorted(COMMANDS.values(), key=lambda entry: entry.name)
    ]
    asking = [
        ("`%%zidane [options]` + prompt", "ask in a cell of its own; the prompt may have any number of lines"),
        ("`%zidane free text`", "ask in one line"),
    ]
    options = (
        "Options: `--model NAME`, `--profile build|plan`, `--max-cost DOLLARS`, `--max-turns N`, "
        "`--max-tokens N`, `--max-time 10m`, "
        "`--to NAME` (keep the result), `--bg` (return at once), `--new` (new session), `--notebook PATH`. "
        "`@name` attaches a variable's description, `@path` the head of a file."
    )
    return Reply(f"{table(('write', 'to'), asking + rows)}\n\n{options}")


@command("model", "/model [NAME]", "show or pick the model of this session, e.g. `/model anthropic`")
async def _model(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    if arguments:
        kind, model = split_model(arguments)
        provider = create_provider(kind, env=chat.env)
        chat.session.set_model(f"{kind}/{model}" if model else kind)
        name = f"{provider.name}/{model or provider.default_model}"
        return Reply(f"This session now uses **{name}**.{_reread(chat.session, name)}")
    choice = chat.choose_model()
    return Reply(f"**{choice.name}** ({choice.why}). Pick another with `%zidane /model provider/name`.")


def _reread(session: Session, name: str) -> str:
    """Say what a change of model costs: a provider's cache of the prompt serves the model it was made for."""
    turns = session.turns
    last = next((turn.model for turn in reversed(turns) if turn.role == "assistant" and turn.usage), None)
    tokens = context_now(turns, session.wire_state.undone)
    if last is None or last == name or not tokens:
        return ""
    return f" The next request reads about {tokens:,} tokens anew: what is cached of them is for the model before."


@command("models", "/models", "the providers, whether they can be used, and their default models")
async def _models(context: CommandContext, _arguments: str) -> Reply:
    rows, usable = [], usable_providers(context.chat.env)
    for name in known_providers():
        try:
            provider = create_provider(name, env=context.chat.env)
            model = provider.default_model
            info = model_info(name, model)
            window = f"{info.window:,} tokens" if info.window else "not known"
            rows.append(
                (name, "yes" if name in usable or not provider.capabilities.metered else "no key", model, window)
            )
        except ZidaneError as error:
            rows.append((name, "no", "", error.message))
    return Reply(
        f"{table(('provider', 'usable', 'default model', 'window'), rows)}\n\n"
        "Any model of a provider can be named: `provider/model`. `openai/…` speaks Chat Completions to whatever "
        "`OPENAI_BASE_URL` points at (Ollama, vLLM, llama.cpp, OpenRouter…)."
    )


@command("session", "/session [NOTEBOOK.ipynb]", "this session: where it is kept; or say which notebook this is")
async def _session(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    if arguments:
        chat.move(find_place(arguments))
    session = chat.session
    rows = [
        ("title", session.title),
        ("id", session.id),
        ("file", session.path or "in memory only"),
        ("notebook", f"{chat.place.notebook} ({chat.place.how})" if chat.place.notebook else chat.place.how),
        ("turns", len(session.turns)),
        ("model", chat.choose_model().name),
        ("usage", usage_words(session.usage)),
    ]
    note = "" if session.turns else "\n\nNothing is written until the first prompt."
    return Reply(table(("session", ""), rows) + note)


@command("sessions", "/sessions", "the sessions of this notebook, newest first")
async def _sessions(context: CommandContext, _arguments: str) -> Reply:
    found = list_sessions(context.chat.folder)
    if not found:
        return Reply(f"No sessions yet in `{context.chat.folder}`.")
    rows = [
        (info.id, info.title, info.turns, info.model or "", "in use" if info.locked_by else "") for info in found[:50]
    ]
    more = f"\n\n{len(found) - 50} older ones are not listed." if len(found) > 50 else ""
    return Reply(f"{table(('id', 'title', 'turns', 'model', ''), rows)}{more}\n\nGo on with one: `%zidane /resume ID`.")


@command("resume", "/resume [ID]", "go on with an earlier session (the newest, or by the start of its id); repaints it")
async def _resume(context: CommandContext, arguments: str) -> Reply:
    from zidane_lab.chat.interaction_commands import pending_note
    from zidane_lab.chat.place_commands import place_note

    session = context.chat.resume(arguments or None)
    mended = "".join(f"\n- {what}" for what in session.repairs)
    cut = "\n\nIts last run was cut off; the next prompt goes on from there." if session.interrupted else ""
    waits = f"\n\n{note}" if (note := pending_note(session)) else ""
    waits += f"\n\n{note}" if (note := place_note(session, context.chat.places, context.chat.settings)) else ""
    return Reply(
        f"Resumed **{session.title}** ({session.id}, {len(session.turns)} turns).{cut}{mended}{waits}", repaint=True
    )


@command("branch", "/branch [ID]", "go on with a copy of a session, also of one in use in another kernel; repaints it")
async def _branch(context: CommandContext, arguments: str) -> Reply:
    from zidane_lab.chat.place_commands import place_note

    session = context.chat.branch(arguments or None)
    elsewhere = f"\n\n{note}" if (note := place_note(session, context.chat.places, context.chat.settings)) else ""
    return Reply(f"A copy of **{session.title}** is now this session ({session.id}).{elsewhere}", repaint=True)


@command("new", "/new", "start a new session; this one stays on disk")
async def _new(context: CommandContext, _arguments: str) -> Reply:
    context.chat.new()
    return Reply("The next prompt starts a new session. Variables are untouched.")


@command("reset", "/reset", "stop what runs, drop connections and queued messages, reload settings, start anew")
async def _reset(context: CommandContext, _arguments: str) -> Reply:
    chat = context.chat
    if not await chat.settle(5.0):
        raise ConfigurationError("The run does not end.", hint="Interrupt the kernel, then reset again.")
    await chat.close()
    chat.settings = load_settings(chat.env)
    return Reply("Reset: connections closed, settings read anew, the next prompt starts a new session.")


@command("stop", "/stop", "stop the run that is going on (an interrupt of the kernel does the same)")
async def _stop(context: CommandContext, _arguments: str) -> Reply:
    agent = context.chat.agent
    stopped = agent is not None and agent.abort()
    return Reply("Stopping the run; what is done is kept." if stopped else "Nothing is running.")


@command("steer", "/steer TEXT", "say something to the running agent: it reads it before its next step")
async def _steer(context: CommandContext, arguments: str) -> Reply:
    agent = context.chat.agent
    if agent is None:
        raise ConfigurationError(
            "Nothing is running to be steered.", hint="Ask with %%zidane; --bg leaves room to steer."
        )
    agent.steer(arguments)
    return Reply("Told: calls not yet started are skipped and the agent answers this next.")


@command("status", "/status", "what is going on: run, model, mode, session")
async def _status(context: CommandContext, _arguments: str) -> Reply:
    chat, choice = context.chat, context.chat.choose_model()
    agent = chat.agent
    rows = [
        ("run", f"{agent.model_name}, going on" if agent is not None else "none"),
        ("queued", " / ".join(agent.queued()) or "none" if agent is not None else "none"),
        ("model", f"{choice.name} ({choice.why})"),
        ("approvals", chat.settings.mode),
        ("session", f"{chat.session.id}, {len(chat.session.turns)} turns"),
        ("files and commands", chat.places.line(chat.settings)),
        ("usage", usage_words(chat.session.usage)),
        *context.facts().items(),
    ]
    return Reply(table(("status", ""), rows))


@command("doctor", "/doctor", "check the installation, the kernel, the keys and the folders")
async def _doctor(context: CommandContext, _arguments: str) -> Reply:
    chat = context.chat
    usable = usable_providers(chat.env)
    base = chat.place.folder
    rows = [
        ("zidane_lab", _version("zidane_lab")),
        ("python", f"{platform.python_version()} on {platform.system()}"),
        ("ipython", _version("ipython")),
        ("ipykernel", _version("ipykernel")),
        *context.facts().items(),
        ("notebook", f"{chat.place.notebook} ({chat.place.how})" if chat.place.notebook else chat.place.how),
        ("sessions", f"{chat.folder}{'' if os.access(base, os.W_OK) else '  **not writable**'}"),
        ("settings", str(home(chat.env) / "settings.json")),
        ("files and commands", chat.places.line(chat.settings)),
        ("keys", ", ".join(usable) or "none set: the offline planner answers"),
        (
            "figures",
            "shrunk for the model" if importlib.util.find_spec("PIL") else "Pillow missing: large ones stay here",
        ),
    ]
    settings = load_settings(chat.env)
    problems = [*settings.problems, *chat.session.repairs]
    try:
        kind, _ = split_model(chat.choose_model().name)
        create_provider(kind, env=chat.env)
    except ZidaneError as error:
        problems.append(str(error))
    verdict = "\n".join(f"- {each}" for each in problems) if problems else "No problems found."
    return Reply(f"{table(('doctor', ''), rows)}\n\n{verdict}")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@command("config", "/config [KEY VALUE]", "show the settings and where each comes from, or store one")
async def _config(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    stored = ""
    if arguments:
        key, _, value = arguments.replace("=", " ", 1).partition(" ")
        path = save_setting(key, value.strip(), chat.env)
        stored = f"Stored in `{path}`.\n\n"
        chat.settings = load_settings(chat.env)
    settings = chat.settings = load_settings(chat.env)
    rows = [(f"`{key}`", shown(settings, key), settings.sources.get(key, "")) for key in KEYS]
    problems = "".join(f"\n- {each}" for each in settings.problems)
    return Reply(f"{stored}{table(('setting', 'value', 'from'), rows)}{chr(10) + problems if problems else ''}")


# These register their commands, after those above.
import zidane_lab.chat.approvals_commands  # noqa: E402
import zidane_lab.chat.budget_commands  # noqa: E402
import zidane_lab.chat.compact_commands  # noqa: E402
import zidane_lab.chat.interaction_commands  # noqa: E402
import zidane_lab.chat.output_commands  # noqa: E402
import zidane_lab.chat.place_commands  # noqa: E402
import zidane_lab.chat.todo_commands  # noqa: E402
import zidane_lab.chat.usage_commands  # noqa: E402, F401
