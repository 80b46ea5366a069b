"""Searching the content of files, with ripgrep or with our own engine, to the same result.

:mod:`~zidane_lab.tools.search.pattern` reads a regular expression once and writes it for either engine;
:mod:`~zidane_lab.tools.search.ripgrep` and :mod:`~zidane_lab.tools.search.own` count matching lines by file and
fetch those of a page; :mod:`~zidane_lab.tools.search.worker` is our engine, in a process of its own that can be
ended; :mod:`~zidane_lab.tools.search.processes` starts either here or in another place.
"""
