"""Code searched and rewritten by its syntax: the shared parts of ``ast_grep`` and ``ast_edit``.

:mod:`~zidane_lab.tools.structure.scope` finds files, :mod:`~zidane_lab.tools.structure.sources` reads them,
:mod:`~zidane_lab.tools.structure.engine` lets a process of its own match patterns in them
(:mod:`~zidane_lab.tools.structure.worker`), and :mod:`~zidane_lab.tools.structure.rewrite` puts replacements together.
"""
