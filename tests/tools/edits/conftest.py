from __future__ import annotations

import pytest

from tests.tools.edits.support import KINDS, Bench


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)
