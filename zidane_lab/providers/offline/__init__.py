"""The ``offline`` provider: what answers when no model is connected.

It is not a language model and says so. It is a planner with fixed rules that makes an honest first exploration of
a table by the same tools a model would use, and writes a report in which every number was computed by a tool call
of the run. It reads the request and nothing else, so it needs no network, no key and no memory.

From prompt to answer: ``state`` reads the conversation, ``intent`` the prompt, ``discovery`` finds the tables,
``plan`` chooses the next ``steps``, whose results become ``facts``, and ``report`` writes the facts down.
"""

from __future__ import annotations

from zidane_lab.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
