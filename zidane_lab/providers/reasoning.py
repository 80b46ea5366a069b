"""Which reasoning may be sent to which provider: one policy for the builders of requests and for imports.

A model's reasoning carries a seal (``signature``) that only its maker can check. A service that gets a foreign seal
refuses the whole request, and goes on refusing as long as the block is in the history.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from zidane_lab.turns import ThinkingBlock

__all__ = ["ReasoningAction", "ReasoningWire", "reasoning_action"]

ReasoningAction: TypeAlias = Literal["keep", "drop", "strip-signature"]
ReasoningWire: TypeAlias = Literal["anthropic", "open"]
"""``anthropic`` takes back sealed reasoning only; ``open`` formats (OpenAI's, Google's) carry reasoning as text too."""


def reasoning_action(block: ThinkingBlock, target: str, *, wire: ReasoningWire | None = None) -> ReasoningAction:
    """Say what becomes of a reasoning block in a request to ``target``.

    - Anthropic's format: its own sealed or hidden reasoning is kept, and sealed reasoning whose maker is not known (in
      all likelihood its own, from before makers were noted; the provider drops what the service refuses). Reasoning
      without a seal, and any other maker's, is dropped.
    - Other formats: hidden reasoning and Anthropic's are dropped. The target's own stays as it is. Of all other
      reasoning the text stays and the seal goes: a foreign one would be refused, with no way to recover.

    Parameters
    ----------
    block
        The reasoning; ``producer`` is the name of the provider it came from.
    target
        Name of the provider, which is also the route a seal is bound to.
    wire
        The format ``target`` speaks; by default Anthropic's for ``anthropic`` and an open one for all others.
    """
    if (wire or ("anthropic" if target == "anthropic" else "open")) == "anthropic":
        is_own = block.producer in {None, target, "anthropic"}
        return "keep" if is_own and block.signature else "drop"
    if block.redacted or block.producer == "anthropic":
        return "drop"
    return "keep" if block.signature is None or block.producer == target else "strip-signature"
