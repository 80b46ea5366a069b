"""Sources of answers: one module per wire format, a catalog of models, a registry of names.

:func:`create_provider` makes a provider by name; :mod:`zidane_lab.providers.base` says what a provider is.
Everything else is imported from its own module, so that nothing is loaded before it is used.
"""

from __future__ import annotations

from zidane_lab.providers.base import Provider, Request, StreamEvent
from zidane_lab.providers.registry import create_provider, split_model, usable_providers

__all__ = ["Provider", "Request", "StreamEvent", "create_provider", "split_model", "usable_providers"]
