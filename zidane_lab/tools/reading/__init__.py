"""Reading: what a path means, where its bytes are, and how they are shown.

:mod:`~zidane_lab.tools.reading.files` reaches files here and elsewhere, :mod:`~zidane_lab.tools.reading.targets` reads
a path with what may stand behind it, :mod:`~zidane_lab.tools.reading.show` chooses among the other modules, one for
each kind of file.
"""
