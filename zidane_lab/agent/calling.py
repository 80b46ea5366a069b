"""Ask a model once, whatever it takes: make room, retry what fails in passing, shorten what is too long, fall back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from zidane_lab.agent.assemble import Assembly, assemble
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.compacting import window_of
from zidane_lab.agent.fallback import next_target
from zidane_lab.agent.kit import Kit
from zidane_lab.agent.ledger import BudgetLedger, check
from zidane_lab.agent.retry import with_retries
from zidane_lab.agent.room import Room
from zidane_lab.agent.thinking_decay import decayed_budget
from zidane_lab.errors import ContextExceededError, ProviderError
from zidane_lab.events import ContextTransform, FallbackSwitch, FinishReason, Ids, RetryWait, TurnAfter, TurnBefore
from zidane_lab.providers.base import Request
from zidane_lab.providers.figures import cost_at
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.turns import TextBlock, Turn, Usage, new_id
from zidane_lab.wire.build import wire_turns

__all__ = ["Caller"]


class Caller:
    """Asks the models of one run, one answer at a time.

    Parameters
    ----------
    kit, behavior, ids, ledger
        Those of the run.
    system
        The system prompt.

    Attributes
    ----------
    room
        Keeps the conversation within its window.
    """

    def __init__(self, kit: Kit, behavior: Behavior, ids: Ids, ledger: BudgetLedger, system: str = "") -> None:
        self._kit, self._behavior, self._ids, self._ledger = kit, behavior, ids, ledger
        self.system, self._boundary = system, kit.system_boundary
        self._chain = kit.targets[kit.continuity.fallback.first(kit.targets) :]
        self.room = Room(kit, behavior, ids, ledger)
        self._before: Usage | None = None

    @property
    def target(self) -> ModelTarget:
        """The model that answers now."""
        return self._chain[0]

    def use_system(self, text: str) -> None:
        """Send another system prompt, which a hook made of the one given; its boundary holds if what is above does."""
        above = self._boundary
        if above is not None and (len(text) <= above or text[:above] != self.system[:above]):
            self._boundary = None
        self.system = text

    async def ask(self, index: int) -> tuple[Turn, FinishReason]:
        """Have the next answer written and stored; after a failure or a stop, the text that was shown is stored.

        Parameters
        ----------
        index
            Which answer of the run it is, from 0.

        Raises
        ------
        ProviderError
            The model failed, and so did those that could take over.
        """
        if index == 0:
            await self.room.tidy()
        await self._make_room(index)
        await check(self._ledger, self._kit.hooks.emit, self._ids)  # a summary may have used up what was left
        await self._kit.hooks.emit(TurnBefore(replace(self._ids, turn_id=None), index))
        shortened = 0
        while True:
            request = await self.request(index)
            ids = replace(self._ids, turn_id=new_id("turn"))
            try:
                return await self._answer(request, ids, index)
            except ContextExceededError as error:
                if await self.room.after_overflow(self.target, lambda: self.request(index), tries=shortened):
                    shortened += 1
                else:
                    await self._go_on_with_another(error, index, shortened=True)
                    shortened = 0  # the window of the one that takes over is another
            except ProviderError as error:
                await self._go_on_with_another(error, index, shortened=bool(shortened))
                shortened = 0
            await check(self._ledger, self._kit.hooks.emit, self._ids)  # what failed, and a summary, cost too

    async def _go_on_with_another(self, error: ProviderError, index: int, *, shortened: bool) -> None:
        await self._fall_back(error, shortened=shortened)
        await self._make_room(index)

    async def _make_room(self, index: int) -> None:
        answering = await self.room.make(self.target, lambda: self.request(index))
        self._chain = (answering, *(target for target in self._chain[1:] if target != answering))

    async def request(self, index: int) -> Request:
        """Build what the model would be sent now."""
        kit, behavior = self._kit, self._behavior
        session = kit.session
        if behavior.strict_pairing:
            turns = wire_turns(session.turns, state=session.wire_state, strict=True)
        else:
            turns = kit.continuity.wire.build(session.turns, session.wire_state)
        context = ContextTransform(self._ids, turns)
        await kit.hooks.emit(context)
        if context.turns is not turns:  # rewritten by a handler, who may have torn calls from their results
            context.turns = wire_turns(context.turns, strict=behavior.strict_pairing)
        budget = behavior.thinking_budget
        if budget is not None:
            budget = decayed_budget(behavior.thinking_decay, index + 1, budget)
        return Request(
            self.target.model,
            self.system,
            context.turns,
            tuple(tool.spec for tool in kit.tools.values()),
            behavior.max_tokens,
            behavior.thinking,
            budget,
            behavior.cache_ttl,
            session.id,
            self._boundary,
        )

    async def _answer(self, request: Request, ids: Ids, index: int) -> tuple[Turn, FinishReason]:
        target, emit = self.target, self._kit.hooks.emit
        metered = target.provider.capabilities.metered
        assembly = Assembly(target.provider.name)
        sent_at = time.time()

        async def attempt(_retries: int) -> Assembly:
            nonlocal assembly, sent_at
            sent_at = time.time()
            assembly = Assembly(target.provider.name)
            try:
                await assemble(
                    target.provider.stream(request), assembly, emit, ids, previous=self._before, price=_price(target)
                )
            except BaseException as error:
                if assembly.usage is not None:
                    self._ledger.add(assembly.usage, metered=metered, model=target.name)
                if (screen := self._kit.session.screen) is not None:
                    screen.error(error)
                raise
            return assembly

        async def waits(number: int, most: int, seconds: float, error: ProviderError) -> None:
            await emit(RetryWait(self._ids, number, most, seconds, error.message, error.code))

        try:
            done = await with_retries(
                attempt, self._behavior.retry, may_retry=lambda: not assembly.is_shown, on_wait=waits
            )
        except BaseException:
            texts = tuple(block for block in assembly.blocks() if isinstance(block, TextBlock))
            if texts:
                self._store(Turn("assistant", texts, id=ids.turn_id or "", usage=assembly.usage))
            raise
        self._ledger.add(done.usage, turns=1, metered=metered, model=target.name)
        finish = done.finish or "other"
        turn = self._store(Turn("assistant", done.blocks(), id=ids.turn_id or "", usage=done.usage))
        await emit(TurnAfter(ids, index, turn, finish))
        await self._watch(request, turn, ids, sent_at)
        return turn, finish

    async def _watch(self, request: Request, turn: Turn, ids: Ids, sent_at: float) -> None:
        """Take note of what the provider counted, and tell when it missed its cache."""
        usage, continuity = turn.usage, self._kit.continuity
        if usage is None or not usage.context:
            return
        self._before = usage
        continuity.measured = (turn.id, usage.context + usage.output)
        if continuity.compaction is not None:
            continuity.compaction = continuity.compaction.counted(usage.context)
        missed = continuity.cache.observe(
            request, usage, ids=ids, provider=self.target.provider.name, now=sent_at, price=_price(self.target)
        )
        if missed is not None:
            await self._kit.hooks.emit(missed)

    async def _fall_back(self, error: ProviderError, *, shortened: bool) -> None:
        """Let the next model of the chain take over.

        Raises
        ------
        ProviderError
            There is none for this failure: ``error``.
        """
        state, failed = self._kit.continuity.fallback, self.target
        state.note(failed, error)
        following = next_target(self._chain, 0, error, state=state, compacted=shortened, window_of=window_of)
        if following is None:
            raise error
        self._ledger.require_price(self._chain[following].provider, self._chain[following].model)
        self._chain = self._chain[following:]
        await self._kit.hooks.emit(FallbackSwitch(self._ids, failed.name, self.target.name, error.message))

    def _store(self, turn: Turn) -> Turn:
        return self._kit.session.append(replace(turn, run_id=self._ids.run_id, model=self.target.name))


def _price(target: ModelTarget) -> Callable[[Usage], float | None]:
    return lambda usage: cost_at(target.provider, target.model, usage)
