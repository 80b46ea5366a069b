"""What a piece of Python does, as the gate sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zidane_lab.approvals.assess import Assessment, Surroundings, names_own, placed
from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.python_reach import destroys, python_reach
from zidane_lab.approvals.python_scope import scope_of
from zidane_lab.approvals.safelist import PYTHON_TOOL

__all__ = ["assess_python"]


def assess_python(arguments: Mapping[str, Any], around: Surroundings) -> Assessment:
    """Judge code for the kernel."""
    code = arguments.get("code")
    if not isinstance(code, str):
        return Assessment("execute", "execute", ("its code is not a text",), is_coverable=False)
    verdict = classify(code, protected=around.protected, known=around.known)
    reached = python_reach(code, around.project, around.looks)
    if verdict.risk == "pure":
        reasons = reached.secrets or ("it runs code",)
        reach = Assessment("execute", "execute" if reached.secrets else "compute", reasons, reached.secrets)
        return replace(reach, advice=reached.advice, is_coverable=not reached.secrets)
    reasons = (*(map(str, verdict.reasons)), *reached.secrets) or ("it cannot be judged",)
    scope = scope_of(code, verdict, around.project, protected=around.protected, known=around.known)
    secret = tuple(str(reason) for reason in verdict.reasons if "secret" in reason.why) + reached.secrets
    destroyed = destroys(code, verdict)
    own = names_own(code, around.project)
    base = Assessment(
        "execute",
        "write" if scope.is_writing else "execute",
        reasons + tuple(each for each in destroyed if each not in reasons) + own,
        secret + destroyed + own,
        touches_own=bool(own),
        tokens=scope.tokens,
        suggested=tuple(f"{PYTHON_TOOL}:{token}:*" for token in scope.tokens),
        is_coverable=scope.is_coverable and not reached.secrets,
        advice=reached.advice,
    )
    base = placed(base, scope.targets, around.project) if scope.targets else base
    exact = bool(scope.tokens) and all(token.startswith("code-") for token in scope.tokens)
    return replace(base, is_exact=exact and set(base.critical) <= set(destroyed))
