"""From the turns of a session to turns any provider accepts; pure functions, no input and output.

:func:`~zidane_lab.wire.build.wire_turns` is the whole way, and :class:`~zidane_lab.wire.incremental.WireBuilder` the
same for a session that grows. Its steps stand alone, in this order: :mod:`~zidane_lab.wire.cutoff` (summaries in place
of turns), :mod:`~zidane_lab.wire.elide` (results left out), :mod:`~zidane_lab.wire.pairing` (calls and their results)
and :mod:`~zidane_lab.wire.tail` (how a request starts and ends). What has been decided about a session is in
:mod:`~zidane_lab.wire.state`; sizes are in :mod:`~zidane_lab.wire.tokens` (roughly) and :mod:`~zidane_lab.wire.sizes`
(bytes).

Histories from elsewhere come in through :mod:`~zidane_lab.wire.convert`, and are made sound by
:mod:`~zidane_lab.wire.sanitize`, :mod:`~zidane_lab.wire.unresolved` and :mod:`~zidane_lab.wire.dropping`.

A step hands back the very object it was given when there is nothing to do.
"""
