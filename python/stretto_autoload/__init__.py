# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch loads at every `import torch`: it makes the name "stretto" known, and nothing more.

PyTorch 2.13 knows backends only when they are registered, and loads the entry points of the group
`torch.backends` at its own import; from 2.14 on it finds a backend by the entry point of its name,
and loads it when a program asks for it.  A package of its own, since importing `stretto` loads the
library, and an `import torch` that has nothing to do with Stretto must not pay for that.
"""

from __future__ import annotations

import os
from typing import Any


def register() -> None:
    """Registers the backend with a PyTorch that does not find it by itself."""
    import torch

    if os.environ.get("STRETTO_TORCH_REPLACE"):
        from stretto.torch import replace_by_setting

        replace_by_setting()
    elif _before(torch.__version__, (2, 14)) and torch.distributed.is_available():
        torch.distributed.Backend.register_backend(
            "stretto",
            _create,
            extended_api=True,
            devices=["cpu", "cuda"] if torch.version.cuda else ["cpu"],
        )


def _before(version: str, release: tuple[int, int]) -> bool:
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) < release


def _create(options: Any, backend_options: Any) -> Any:
    from stretto.torch.registration import create

    return create(options, backend_options)
