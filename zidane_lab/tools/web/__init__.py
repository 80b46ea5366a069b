"""The web as tools see it: pages and searches, fetched with care.

:mod:`~zidane_lab.tools.web.urls` and :mod:`~zidane_lab.tools.web.addresses` say what may be reached,
:mod:`~zidane_lab.tools.web.connecting` connects to exactly what was checked, :mod:`~zidane_lab.tools.web.fetching`
fetches within limits, :mod:`~zidane_lab.tools.web.pages` makes text of it, :mod:`~zidane_lab.tools.web.forms` finds the
form that is best to read, and :mod:`~zidane_lab.tools.web.reader` shows it, whole or in parts, to the tools.
:mod:`~zidane_lab.tools.web.searching` asks search services. What comes from the web is data, never instructions.
"""
