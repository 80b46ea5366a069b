"""Guards: small hook bundles that keep a run from wasting turns, tokens or a person's patience.

Each watches the calls of one conversation and steps in at one point: it answers a call without running it, refuses
it, or says something to the model at the next boundary; every time it announces a ``guard:hit``. A guard that fails
lets the call through. :func:`zidane_lab.agent.guards.settings.guards_for` makes those that are switched on.
"""
