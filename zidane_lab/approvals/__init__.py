"""May this call run? Classify Python code, recognise secrets, ask a person, and refuse when nobody answers.

:class:`~zidane_lab.approvals.gate.Gate` is the public face: a handler of the ``tool:gate`` event. It decides
with :func:`~zidane_lab.approvals.python_code.classify` and
:func:`~zidane_lab.approvals.secrets.looks_secret`, and fails closed.
"""
