# SPDX-License-Identifier: BSD-3-Clause
"""What programs see of a `Work` of Python's in PyTorch 2.14: a holder that passes on `wait` and
`get_future` alone, in C++ as well, and raises there what the call raises.

(The work that PyTorch makes of a future knows more, but its `wait` keeps quiet about errors.)  The
rest is asked of the future here: for all works that say of themselves that they have not ended, or
have no result, which is the truth with other backends.
"""

from __future__ import annotations

from typing import Any

from torch._C import _distributed_c10d as c10d

_Work = c10d.Work
_is_completed, _is_success = _Work.is_completed, _Work.is_success
_exception, _result = _Work.exception, _Work.result


def _future_of(work: Any) -> Any:
    """The future, if the call has ended; None as well if the work has no future."""
    try:
        future = work.get_future()
    except RuntimeError:
        return None
    return future if future.done() else None


def is_completed(work: Any) -> bool:
    return _is_completed(work) or _future_of(work) is not None


def exception(work: Any) -> Any:
    found = _exception(work)
    future = _future_of(work) if found is None else None
    if future is not None:
        try:
            future.value()
        except RuntimeError as error:
            return error
    return found


def is_success(work: Any) -> bool:
    return _is_success(work) and is_completed(work) and exception(work) is None


def result(work: Any) -> Any:
    try:
        return _result(work)
    except RuntimeError:
        future = _future_of(work)
        if future is None:
            raise
        return future.value()


def install() -> None:
    _Work.is_completed, _Work.is_success = is_completed, is_success
    _Work.exception, _Work.result = exception, result
