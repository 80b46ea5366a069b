"""Changing files: find what to replace, plan the change, write it whole or not at all, and take it back.

A tool first makes a :class:`~zidane_lab.tools.edits.plan.Plan` from its arguments: nothing is written yet, so a plan
can be shown, asked about or staged (:mod:`~zidane_lab.tools.edits.pending`). Carrying it out
(:mod:`~zidane_lab.tools.edits.commit`) checks that the files are still the same, writes them, and keeps what was there
(:mod:`~zidane_lab.tools.edits.changes`), so that it can be taken back (:mod:`~zidane_lab.tools.edits.undo`).
Everything works the same on this machine and in an execution context, but for rows of databases.
"""
