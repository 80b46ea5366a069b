"""Which provider answers with which model, and who steps in when it fails.

A run has a list of targets: the first is its model, the others are asked in order when a call fails for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zidane_lab.errors import ConfigurationError
from zidane_lab.providers.base import Provider
from zidane_lab.providers.registry import split_model

__all__ = [
    "ModelTarget",
    "ModelTargetSpec",
    "chain_specs",
    "filter_chain",
    "normalize_providers",
    "resolve_model_targets",
    "target_named",
]


@dataclass(frozen=True, slots=True)
class ModelTargetSpec:
    """One entry of a list of models.

    ``model`` is the provider's own name of it. Without ``provider`` every provider is asked for it, in their order.
    ``window`` is the model's context window in tokens, for hosts that know it better than the catalog.
    """

    model: str
    provider: str | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True)
class ModelTarget:
    """A provider and one of its models; ``window`` is its context window in tokens, where a host gave one."""

    provider: Provider
    model: str
    window: int | None = None

    @property
    def name(self) -> str:
        """The full name of the model: ``provider/model``."""
        return f"{self.provider.name}/{self.model}"


def target_named(name: str) -> ModelTarget:
    """Return the model of a full name, or a provider's default one, with a new provider.

    Raises
    ------
    ConfigurationError
        There is no such provider, or it cannot be used.
    """
    from zidane_lab.providers.registry import create_provider

    kind, model = split_model(name)
    provider = create_provider(kind)
    return ModelTarget(provider, model or provider.default_model)


def normalize_providers(provider: Provider | Sequence[Provider]) -> tuple[Provider, ...]:
    """Return the providers as a tuple, once their names are fit to tell them apart.

    Raises
    ------
    ConfigurationError
        There is none; or there are several, and one's name is blank or taken. The name of an only provider plays
        no part.
    """
    providers = tuple(provider) if isinstance(provider, Sequence) else (provider,)
    if not providers:
        raise ConfigurationError("There is no provider.", hint="Give one, or a list of them.")
    if len(providers) == 1:
        return providers
    seen: set[str] = set()
    for each in providers:
        if not each.name.strip():
            raise ConfigurationError(
                f"A provider ({type(each).__name__}) has no name.", hint="With several, each needs one of its own."
            )
        if each.name in seen:
            raise ConfigurationError(
                f"Two providers are named {each.name!r}.", hint="With several, each needs a name of its own."
            )
        seen.add(each.name)
    return providers


def resolve_model_targets(
    providers: Sequence[Provider], model: str | Sequence[str | ModelTargetSpec] | None = None
) -> tuple[ModelTarget, ...]:
    """Return the targets of a run in the order in which they are asked; the first is its model.

    Parameters
    ----------
    providers
        In order of preference; see :func:`normalize_providers`.
    model
        A model's own name, which every provider is asked for; or a list of such names and of specs, those with a
        ``provider`` for that one only; left out, the default model of each provider.

    Raises
    ------
    ConfigurationError
        There is no provider, no model, or none of the name that an entry gives.
    """
    if not providers:
        raise ConfigurationError("There is no provider.", hint="Give one, or a list of them.")
    if model is None:
        return _without_doubles([ModelTarget(provider, provider.default_model) for provider in providers])
    entries = [model] if isinstance(model, str) else list(model)
    if not entries:
        raise ConfigurationError("The list of models is empty.", hint="Name a model, or leave the list out.")
    targets: list[ModelTarget] = []
    for entry in entries:
        spec = ModelTargetSpec(entry) if isinstance(entry, str) else entry
        if not spec.model.strip():
            raise ConfigurationError("A model of the list has no name.", hint="Name it, or leave it out.")
        chosen = [provider for provider in providers if spec.provider in (None, provider.name)]
        if not chosen:
            known = ", ".join(provider.name for provider in providers)
            raise ConfigurationError(
                f"There is no provider named {spec.provider!r} for the model {spec.model!r}.",
                hint=f"The providers at hand are: {known}.",
            )
        targets += [ModelTarget(provider, spec.model, spec.window) for provider in chosen]
    return _without_doubles(targets)


def filter_chain(
    primary: str, fallbacks: Sequence[str], is_available: Callable[[str], bool] = lambda _provider: True
) -> tuple[str, ...]:
    """Return the fallbacks that can stand in for a model, in the order they were picked.

    Names are full ones, ``provider/model``. What goes: the model itself, exact doubles, and models of a provider for
    which ``is_available`` (asked with its name) says no.

    Raises
    ------
    ConfigurationError
        A name has no provider's name in it.
    """
    kept: list[str] = []
    for name in fallbacks:
        provider, _ = split_model(name)
        if name != primary and name not in kept and is_available(provider):
            kept.append(name)
    return tuple(kept)


def chain_specs(
    chain: Sequence[str],
    providers: Sequence[Provider],
    window_of: Callable[[str], int | None] = lambda _name: None,
) -> str | tuple[ModelTargetSpec, ...]:
    """Return what :func:`resolve_model_targets` needs for a chain of full names, its model first.

    A chain of one gives that model's own name; a longer one a spec for each. A chain kept from earlier days may name
    providers that are no longer at hand: such entries go, and when the model itself is among them, or nobody is left
    to step in, the chain is just the model.

    Parameters
    ----------
    chain
        Full names, ``provider/model``.
    providers
        Those at hand.
    window_of
        Gives a full name's context window, in tokens, for the budget of the context to follow the model in use.

    Raises
    ------
    ConfigurationError
        The chain is empty, or a name has no provider's name in it.
    """
    if not chain:
        raise ConfigurationError("The chain of models is empty.", hint="Name a model.")
    defaults = {provider.name: provider.default_model for provider in providers}
    specs: list[ModelTargetSpec] = []
    for name in chain:
        provider, model = split_model(name)
        if provider in defaults:
            specs.append(ModelTargetSpec(model or defaults[provider], provider, window_of(name)))
    provider, model = split_model(chain[0])
    if provider not in defaults or len(specs) < 2:
        return model or defaults.get(provider, provider)
    return tuple(specs)


def _without_doubles(targets: Sequence[ModelTarget]) -> tuple[ModelTarget, ...]:
    """Drop the later ones of equal targets."""
    first: dict[tuple[int, str], ModelTarget] = {}
    for target in targets:
        first.setdefault((id(target.provider), target.model), target)
    return tuple(first.values())
