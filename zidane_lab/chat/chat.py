"""One conversation beside one notebook: its session, its settings, and the agent that is running, if any."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from zidane_lab.agent.agent import Agent
from zidane_lab.agent.compacting import window_of
from zidane_lab.agent.frozen_system import FrozenSystem
from zidane_lab.agent.hooks import HookBundle, HookBus
from zidane_lab.agent.partials import recover
from zidane_lab.agent.result import RunResult
from zidane_lab.agent.todo_reminder import TodoReminder
from zidane_lab.approvals.decisions import Ask, Grants
from zidane_lab.chat.budgets import budgets_in_force, notebook_spent
from zidane_lab.chat.interacting import Front, desk_of, nobody_there
from zidane_lab.chat.kept import Kept
from zidane_lab.chat.models import ModelChoice, choose_model
from zidane_lab.chat.place import Place, working_folder
from zidane_lab.chat.place_record import record_place
from zidane_lab.chat.places import Places
from zidane_lab.chat.profiles import Profile, profile_named
from zidane_lab.chat.references import resolve
from zidane_lab.chat.run_setup import keep, set_up
from zidane_lab.chat.settings import Settings, load_settings
from zidane_lab.chat.system import SystemRecord, frozen_system, was_cleared
from zidane_lab.chat.targets import Providers, behavior_of
from zidane_lab.chat.toolbox import Toolbox
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ConfigurationError, SessionError, ZidaneError
from zidane_lab.events import CompactEnd, GuardHit, Ids, SessionRepaired
from zidane_lab.kernel.execution import Executor
from zidane_lab.providers.base import Request
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.secrets.screen import Screen
from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.listing import find_session, list_sessions
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool
from zidane_lab.turns import Block, TextBlock

__all__ = ["AskOptions", "Chat"]


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What one prompt asks for beyond its text. ``None`` leaves a choice to the session and the settings."""

    model: str | None = None
    profile: str | None = None
    max_cost: float | None = None
    max_turns: int | None = None
    budget_tokens: int | None = None
    budget_seconds: float | None = None
    new: bool = False


class Chat:
    """A conversation and what is needed to go on with it.

    Parameters
    ----------
    place
        The notebook it belongs to; sessions are kept beside it.
    env
        Environment variables; the process's own if left out.
    """

    def __init__(self, place: Place, *, env: Mapping[str, str] | None = None) -> None:
        self.place = place
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.settings: Settings = load_settings(self.env)
        self.agent: Agent | None = None
        self._ended = asyncio.Event()
        self._session: Session | None = None
        self._providers = Providers(self.env)
        self._kept = Kept()
        self.places = Places(lambda: self.place.folder)
        self._is_opening = False
        self._tasks: TaskRegistry | None = None
        self._made: tuple[tuple[object, ...], tuple[Tool, ...]] | None = None

    # --- session ------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """Where the sessions of this notebook lie."""
        return sessions_folder(notebook=self.place.notebook, cwd=self.place.folder)

    @property
    def session(self) -> Session:
        """The conversation; a new one until something is said or an old one resumed. Writes nothing by itself."""
        if self._session is None:
            self._session = Session.create(self.folder, notebook=self.place.notebook, cwd=working_folder())
        return self._session

    def new(self) -> None:
        """Leave this conversation (it stays on disk) and start another with the next prompt.

        Raises
        ------
        ConfigurationError
            A run is under way.
        SessionError
            The end of the conversation left could not be written; it is left all the same.
        """
        self._idle("start a new session")
        self._leave(None)

    def _leave(self, following: Session | None) -> None:
        """Go over to another conversation, also when the disk refuses the rest of the one left; that is raised."""
        left, self._session = self._session, following
        self._kept = Kept()  # what was learnt and allowed in it ends with it
        self.places.forget()
        if left is not None:
            left.close()

    def resume(self, prefix: str | None = None) -> Session:
        """Open an earlier conversation of this notebook: by the start of its id, or the newest other one.

        Raises
        ------
        ConfigurationError
            There is none, or a run is under way.
        SessionError
            No id begins so, or several do, or the file cannot be read.
        SessionLockedError
            Another kernel is writing it.
        """
        self._idle("resume a session")
        path = self._find(prefix)
        if self._session is not None and path == self._session.path:
            return self._session
        session = Session.open(path)
        self._leave(session)  # first: what fails from here on must not keep the lock of a session nobody has
        recover(session)
        return session

    def branch(self, prefix: str | None = None) -> Session:
        """Go on with a copy of a session, also of one that is in use elsewhere; the original is only read.

        Without the start of an id, the newest session other than this one is copied.

        Raises
        ------
        ConfigurationError
            There is none, or a run is under way.
        SessionError
            No id begins so, or several do, or it cannot be read.
        """
        self._idle("branch a session")
        session = Session.branch(self._find(prefix), folder=self.folder)
        self._leave(session)
        recover(session)
        return session

    def _find(self, prefix: str | None) -> Path:
        if prefix:
            return find_session(self.folder, prefix)
        current = self._session.path if self._session is not None else None
        others = [info.path for info in list_sessions(self.folder) if info.path != current]
        if not others:
            raise ConfigurationError(
                f"There is no earlier session of this notebook in {self.folder}.", hint="Just ask: %%zidane starts one."
            )
        return others[0]

    def move(self, place: Place) -> None:
        """Go on beside another notebook; the conversation so far stays where it is."""
        self._idle("go on beside another notebook")
        self.place = place
        self._leave(None)

    async def settle(self, seconds: float) -> bool:
        """Stop the run, if one is on, and wait for its end; ``False`` when it has not ended in time."""
        agent = self.agent
        if agent is None:
            return True
        agent.abort()
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def suspend(self) -> bool:
        """Leave a run that waits for a person as it is on disk, as a process that dies does; any thread may call it.

        Nothing more is written, so what is asked can be answered in the next process.

        Returns
        -------
        bool
            Whether somebody was waited for.
        """
        session = self._session
        if session is None or not desk_of(session).is_waited_at:
            return False
        with contextlib.suppress(SessionError):  # what could not be written yet is told by nobody any more
            session.close()
        return True

    async def close(self) -> None:
        """Release the session's lock and the providers' connections."""
        try:
            self._leave(None)
        finally:
            tasks, self._tasks = self._tasks, None
            if tasks is not None:
                await tasks.aclose()
            await self.places.aclose()
            await self._providers.aclose()

    def _idle(self, what: str) -> None:
        if self.agent is not None or self._is_opening:
            raise ConfigurationError(
                f"A run is under way, so it is not possible to {what}.", hint="%zidane /stop it first."
            )

    # --- asking -------------------------------------------------------------------------------------

    def choose_model(self, explicit: str | None = None) -> ModelChoice:
        """Return the model that would answer now, and why."""
        picked = self._session.model if self._session is not None else None
        return choose_model(explicit, picked, self.settings, self.env)

    async def ask(
        self,
        prompt: str,
        options: AskOptions,
        *,
        executor: Executor | None,
        front: Front = nobody_there,
        ask: Ask | None = None,
        bundles: Iterable[HookBundle] = (),
    ) -> RunResult:
        """Answer a prompt with the model, profile and limits that apply.

        Parameters
        ----------
        prompt
            What the person wrote; ``@name`` and ``@path`` in it attach a variable's description or a file's head.
        options
            What they asked for beyond that.
        executor
            The kernel to work in.
        front
            Shows the person what they must decide; nobody is asked if left out.
        ask
            Answers what needs permission in the person's place, before they are asked.
        bundles
            Subscribers for this run: a renderer, a recorder.

        Raises
        ------
        ZidaneError
            As :meth:`zidane_lab.agent.agent.Agent.run`; also for a model, profile or option that cannot be used.
        """
        self._idle("start another in the same session")
        if options.new:
            self.new()
        profile = self._profile(options)
        target = self._providers.target(self.choose_model(options.model).name)
        place = await self._open_place()
        setup = set_up(
            self.session,
            self._tools(profile),
            self.settings,
            self._kept,
            profile=profile.name,
            folder=self.place.folder,
            env=self.env,
            executor=executor,
            front=front,
            ask=ask,
            bundles=bundles,
            tasks=self._tasks,
            place=place,
        )
        hooks, asker = setup.hooks, setup.asker
        system = self._system(profile)
        hooks.use(SystemRecord(self.session, system, profile.name))
        if system.record is not None and was_cleared(self.session, profile.name):
            self._kept.continuity.cache.declare("the system prompt was composed afresh")
        agent = self._agent(target, setup.tools, system, options, executor=executor, hooks=hooks, place=place)
        agent.interact, agent.journal = asker.interact, setup.journal
        with self._running(agent):
            if self.session.repairs:
                await hooks.emit(SessionRepaired(Ids(), self.session.repairs))
            if setup.gate.banner:
                await hooks.emit(GuardHit(Ids(), "bypass", "", setup.gate.banner))
            record_place(self.session, self.places.name(self.settings), place)
            notices = self.places.take_notices()
            where = [f"Files and commands: {self.places.line(self.settings)}."] if place.info.where else []
            for text in (*notices, *where):
                await hooks.emit(GuardHit(Ids(), "place", "", text))
            if asker.desk.is_ready_to_resume:
                await agent.resume_calls()
            blocks: list[Block] = [TextBlock(prompt)]
            attached = await resolve(prompt, executor, agent.cwd)
            if attached:
                blocks.append(TextBlock(attached))
            blocks += [TextBlock(note.text) for note in system.notes]
            blocks += [TextBlock(f"<system-note>\n{text}\n</system-note>") for text in notices]
            return await agent.run(blocks)

    async def compact(
        self,
        scope: str = "tail",
        *,
        instructions: str = "",
        executor: Executor | None = None,
        bundles: Iterable[HookBundle] = (),
    ) -> CompactEnd:
        """Summarise part of the conversation now.

        Raises
        ------
        ZidaneError
            As :meth:`zidane_lab.agent.agent.Agent.compact`.
        """
        self._idle("compact the conversation")
        hooks = HookBus()
        for bundle in bundles:
            hooks.use(bundle)
        agent = self._idle_agent(hooks, executor)
        keep(hooks, self.session, self.settings, self._kept, self._kept.guard(self.session, self.settings, self.env))
        hooks.use(TodoReminder(self.session))
        hooks.use(
            SystemRecord(
                self.session, FrozenSystem(agent.system, agent.system_boundary), self._profile(AskOptions()).name
            )
        )
        with self._running(agent):
            return await agent.compact(scope, instructions=instructions)

    def undo_compaction(self) -> str:
        """Take the newest compaction back; return the id of its summary's turn.

        Raises
        ------
        ConfigurationError
            There is none, or a run is under way.
        """
        self._idle("undo a compaction")
        return self._idle_agent(HookBus(), None).undo_compaction()

    def next_request(self) -> Request:
        """Return the request that would be sent if the person said nothing more."""
        profile = self._profile(AskOptions())
        system = self._system(profile)
        return Request(
            self._providers.target(self.choose_model().name).model,
            system.text,
            self._kept.continuity.wire.build(self.session.turns, self.session.wire_state),
            tuple(tool.spec for tool in self._tools(profile)),
            thinking=self.settings.thinking,
            cache_ttl=self.settings.cache_ttl,
            cache_key=self.session.id,
            system_boundary=system.boundary,
        )

    def window(self) -> int | None:
        """Return the longest prompt of the model in tokens; ``None`` where it is not known."""
        return window_of(self._providers.target(self.choose_model().name))

    def _tools(self, profile: Profile) -> tuple[Tool, ...]:
        """Return the tools of a profile, made once. Tasks outlive a conversation: they are the notebook's."""
        if self._tasks is None:
            self._tasks = TaskRegistry(lambda: self._session.folder if self._session is not None else None)
        made_for = (profile, self._tasks, self.settings.rewind)
        if self._made is None or self._made[0] != made_for:
            box = Toolbox(self._tasks, lambda: self.place.notebook, rewind=self.settings.rewind)
            self._made = made_for, profile.tools(box)
        return self._made[1]

    @property
    def grants(self) -> Grants:
        """What was allowed for this conversation."""
        return self._kept.grants_in(self.places.where(self.settings))

    @property
    def screen(self) -> Screen | None:
        """What keeps the conversation's credentials out of all that is shown; ``None`` where it is turned off."""
        guard = self._kept.guard(self.session, self.settings, self.env)
        return guard.screen if guard is not None else None

    def _system(self, profile: Profile) -> FrozenSystem:
        """Return the system prompt as it stands in this conversation."""
        return frozen_system(
            self.session,
            profile,
            self.place,
            working_folder(),
            secrets=self.settings.secrets,
            places=self.places.section(self.settings),
        )

    async def _open_place(self) -> ExecutionContext:
        """Return where files and commands are, opened if need be; no other run begins meanwhile."""
        self._is_opening = True
        try:
            return await self.places.current(self.settings, working_folder(), session_id=self.session.id)
        finally:
            self._is_opening = False

    def _profile(self, options: AskOptions) -> Profile:
        self.settings = load_settings(self.env)
        return profile_named("plan" if self.settings.mode == "plan" else options.profile or self.settings.profile)

    def _idle_agent(self, hooks: HookBus, executor: Executor | None) -> Agent:
        """Return an agent that is to do something to the conversation between runs."""
        profile = self._profile(AskOptions())
        target = self._last_target()
        system = self._system(profile)
        return self._agent(target, self._tools(profile), system, AskOptions(), executor=executor, hooks=hooks)

    def _last_target(self) -> ModelTarget:
        """Return the model that answered last, which has the conversation already; the one chosen before any answer."""
        answered = (turn.model for turn in reversed(self.session.turns) if turn.role == "assistant" and turn.model)
        last = next(answered, None)
        if last is not None:
            with contextlib.suppress(ZidaneError):  # a provider of the caller's own, or one without a key now
                return self._providers.target(last)
        return self._providers.target(self.choose_model().name)

    def _agent(
        self,
        target: ModelTarget,
        tools: Iterable[Tool],
        system: FrozenSystem,
        options: AskOptions,
        *,
        executor: Executor | None,
        hooks: HookBus,
        place: ExecutionContext | None = None,
    ) -> Agent:
        settings, folder = self.settings, self.folder
        budgets = budgets_in_force(
            settings,
            self.session,
            turns=options.max_turns,
            tokens=options.budget_tokens,
            cost=options.max_cost,
            seconds=options.budget_seconds,
        )
        return Agent(
            target.provider,
            model=target.model,
            tools=tools,
            system=system.text,
            system_boundary=system.boundary,
            session=self.session,
            executor=executor,
            hooks=hooks,
            behavior=behavior_of(settings, budgets),
            cwd=working_folder(),
            fallbacks=self._providers.fallbacks(target, settings.fallbacks),
            summarizer=self._providers.target(settings.compact_model) if settings.compact_model else None,
            continuity=self._kept.continuity,
            notebook_spent=lambda: notebook_spent(folder),
            place=place if place is not None else self.places.held(settings),
        )

    @contextlib.contextmanager
    def _running(self, agent: Agent) -> Iterator[None]:
        self.agent = agent
        self._ended.clear()
        try:
            yield
        finally:
            self.agent = None
            self._ended.set()
