# SPDX-License-Identifier: BSD-3-Clause
"""Groups whose members the program names: enable_reconfigure=True."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch.distributed as dist
from programs import Worker, outputs
from stretto.torch.registration import HAS_PYTHON_BACKENDS

WORKER = Path(__file__).with_name("reconfigured.py")


@pytest.mark.skipif(not HAS_PYTHON_BACKENDS, reason="PyTorch before 2.14 has no reconfigure")
def test_members_come_and_go() -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    workers = [Worker(WORKER, name, store.port) for name in ("a", "b", "c", "new")]
    printed = outputs(workers, killed=[1])
    assert "checked c a b" in printed[1]
    for text in (printed[0], printed[2], printed[3]):
        assert "checked new a c" in text
        assert text.endswith("end\n")
