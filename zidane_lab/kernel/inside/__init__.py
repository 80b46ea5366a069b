"""Code that runs inside any Python kernel, also one where zidane_lab is not installed.

Its source text is shipped there, so every module in this folder keeps three rules: only the standard
library; only syntax and calls of Python 3.9; and modules of this folder import each other by
``from zidane_lab.kernel.inside.X import Y`` at the top level, which is what the bundler rewrites.

What it offers: :func:`~zidane_lab.kernel.inside.describe.describe` and
:func:`~zidane_lab.kernel.inside.describe.summarize` (looking at one object),
:mod:`~zidane_lab.kernel.inside.listing` (looking at the variables),
:mod:`~zidane_lab.kernel.inside.namespace` (what a piece of code did to the names) and
:mod:`~zidane_lab.kernel.inside.meter` (time and memory).

One promise holds for all of it: looking never runs the code of what is looked at. Types are told by
``type()`` and their real method resolution order, attributes by static lookup; properties, ``__getattr__``,
``__repr__``, ``__len__`` and ``__iter__`` of unknown classes are never called, nothing lazy is computed, and
no cost grows with the size of the data.
"""
