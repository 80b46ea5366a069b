"""From the turns of a session to turns any provider accepts; pure functions, no input and output.

:func:`~zidane_lab.wire.build.wire_turns` is the whole way. Its steps stand alone in
:mod:`~zidane_lab.wire.pairing` (calls and their results), :mod:`~zidane_lab.wire.tail` (how a request
starts and ends) and :mod:`~zidane_lab.wire.tokens` (how large it is, roughly).
"""
