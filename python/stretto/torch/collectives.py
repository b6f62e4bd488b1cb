# SPDX-License-Identifier: BSD-3-Clause
"""The collectives of a process group, as PyTorch calls them.

Methods have the names and arguments of PyTorch's C++ interface (`c10d::Backend`): lists of tensors,
and an object of options.  A call whose options say `asyncOp = False` has ended when it returns;
others return a `Work` in flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch

from stretto.errors import ArgumentError
from stretto.torch import flights, sparse
from stretto.torch.calls import INDIRECT, Calls
from stretto.torch.memory import allocator, on_device, shared
from stretto.torch.operations import op_for
from stretto.torch.shrinking import Shrinking
from stretto.torch.tensors import (
    Landing,
    Parts,
    batches,
    dense,
    only,
    readable,
    share_memory,
)
from stretto.torch.work import Work

Tensors = Sequence[torch.Tensor]
Lists = Sequence[Sequence[torch.Tensor]]


class Collectives(Calls, Shrinking):
    """What process groups and backends share: the calls, over a communicator."""

    _timeout = timedelta(minutes=30)

    # ---- reductions

    def allreduce(self, tensors: Tensors, opts: Any = None) -> Work | None:
        if type(tensors) is list:
            work = self._directly(opts, "allreduce", None, tensors[0], len(tensors), True)
            if work is not INDIRECT:
                return work
        tensor = only(tensors, "all_reduce")
        if tensor.layout != torch.strided:
            return sparse.allreduce(self, tensor, opts)
        return self._reduce_in_place(tensor, opts, "allreduce", 0)

    def reduce(self, tensors: Tensors, opts: Any) -> Work:
        return self._reduce_in_place(only(tensors, "reduce"), opts, "reduce", opts.rootRank)

    def _reduce_in_place(self, tensor: torch.Tensor, opts: Any, what: str, root: int) -> Work:
        op = op_for(_reduce_op(opts), tensor)
        if what == "reduce" and self._rank != root:
            return self._run(opts, what, dense(tensor), None, op, root, (), [tensor])
        landing = Landing(tensor)
        send = None if landing.copy_back is None else dense(tensor)
        return self._run(
            opts, what, send, landing.buffer, op, root, (), [tensor], landing.copy_back
        )

    def allreduce_coalesced(self, tensors: Tensors, opts: Any) -> Work:
        return self._each(
            opts, [lambda b=b: self._reduce_together(b, opts) for b in batches(tensors)]
        )

    def _reduce_together(self, tensors: list[torch.Tensor], opts: Any) -> Work | None:
        """Reduces the tensors of a batch in place, by one call."""
        if len(tensors) == 1:
            return self.allreduce(tensors, opts)
        if tensors[0].is_cuda:
            return self._reduce_on_device(tensors, opts)
        landings = [Landing(tensor) for tensor in tensors]
        copies_back = []
        for landing, tensor in zip(landings, tensors, strict=True):
            if landing.copy_back is not None:
                landing.buffer.copy_(tensor.detach())
                copies_back.append(landing.copy_back)

        def finish() -> None:
            for copy_back in copies_back:
                copy_back()

        op = op_for(_reduce_op(opts), tensors[0])
        return self._run_batch(opts, [landing.buffer for landing in landings], op, tensors, finish)

    def _reduce_on_device(self, tensors: list[torch.Tensor], opts: Any) -> Work:
        """The same by one vector on the device; the pieces of a batch go through the host."""
        together = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])

        def finish() -> None:
            parts = together.split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.detach().copy_(part.view(tensor.shape))

        op = op_for(_reduce_op(opts), tensors[0])
        return self._run(opts, "allreduce", None, together, op, 0, (), tensors, finish)

    def allreduce_sparse(self, tensors: Tensors, opts: Any) -> Work:
        return sparse.allreduce(self, only(tensors, "all_reduce"), opts)

    def reduce_scatter(self, outputs: Tensors, inputs: Lists, opts: Any) -> Work:
        output = only(outputs, "reduce_scatter")
        parts = Parts(self._one_per_rank(only_list(inputs, "reduce_scatter")))
        landing = Landing(output, fresh=any(share_memory(output, t) for t in parts.tensors))
        return self._run(
            opts,
            "reduce_scatter",
            parts.gathered(),
            landing.buffer,
            op_for(_reduce_op(opts), output),
            0,
            () if parts.even else parts.counts,
            [output],
            landing.copy_back,
        )

    def reduce_scatter_single(
        self, output: torch.Tensor, given: torch.Tensor, opts: Any
    ) -> Work | None:
        work = self._directly(opts, "reduce_scatter", given, output, 1, True)
        if work is not INDIRECT:
            return work
        send = dense(given)
        landing = Landing(output, fresh=share_memory(output, send))
        op = op_for(_reduce_op(opts), output)
        return self._run(
            opts, "reduce_scatter", send, landing.buffer, op, 0, (), [output], landing.copy_back
        )

    def reduce_scatter_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any) -> Work:
        pairs = zip(outputs, inputs, strict=True)
        return self._each(
            opts, [lambda o=o, i=i: self.reduce_scatter_single(o, i, opts) for o, i in pairs]
        )

    # ---- movement

    def broadcast(self, tensors: Tensors, opts: Any) -> Work:
        root = opts.rootRank
        if type(tensors) is list:
            work = self._directly(opts, "broadcast", None, tensors[0], len(tensors), False, root)
            if work is not INDIRECT:
                return work
        tensor = only(tensors, "broadcast")
        if self._rank == root:
            return self._run(opts, "broadcast", None, readable(tensor), "sum", root, (), [tensor])
        landing = Landing(tensor)
        return self._run(
            opts, "broadcast", None, landing.moved, "sum", root, (), [tensor], landing.copy_back
        )

    def allgather(self, outputs: Lists, inputs: Tensors, opts: Any = None) -> Work:
        parts = Parts(self._one_per_rank(only_list(outputs, "all_gather")))
        recv, copy_back = parts.landing()
        return self._run(
            opts,
            "allgather",
            readable(only(inputs, "all_gather")),
            recv,
            "sum",
            0,
            () if parts.even else parts.counts,
            parts.tensors,
            copy_back,
        )

    def all_gather_single(
        self, output: torch.Tensor, given: torch.Tensor, opts: Any = None
    ) -> Work | None:
        work = self._directly(opts, "allgather", given, output)
        if work is not INDIRECT:
            return work
        landing = Landing(output)
        return self._run(
            opts,
            "allgather",
            readable(given),
            landing.moved,
            "sum",
            0,
            (),
            [output],
            landing.copy_back,
        )

    def all_gather_single_coalesced(
        self, outputs: Tensors, inputs: Tensors, opts: Any = None
    ) -> Work:
        pairs = zip(outputs, inputs, strict=True)
        return self._each(
            opts, [lambda o=o, i=i: self.all_gather_single(o, i, opts) for o, i in pairs]
        )

    def allgather_coalesced(self, outputs: Lists, inputs: Tensors, opts: Any = None) -> Work:
        """outputs[r][i]: where inputs[i] of rank r belongs."""
        by_input = zip(*outputs, strict=True)
        pairs = zip(by_input, inputs, strict=True)
        return self._each(
            opts, [lambda o=o, i=i: self.allgather([list(o)], [i], opts) for o, i in pairs]
        )

    def gather(self, outputs: Lists, inputs: Tensors, opts: Any) -> Work:
        send = readable(only(inputs, "gather"))
        recv, copy_back, result = None, None, []
        if self._rank == opts.rootRank:
            parts = Parts(self._one_per_rank(only_list(outputs, "gather")))
            self._require_even(parts, "gather")
            recv, copy_back = parts.landing()
            result = parts.tensors
        return self._run(opts, "gather", send, recv, "sum", opts.rootRank, (), result, copy_back)

    def scatter(self, outputs: Tensors, inputs: Lists, opts: Any) -> Work:
        output = only(outputs, "scatter")
        send, fresh = None, False
        if self._rank == opts.rootRank:
            parts = Parts(self._one_per_rank(only_list(inputs, "scatter")))
            self._require_even(parts, "scatter")
            send = parts.gathered()
            fresh = share_memory(output, send)
        landing = Landing(output, fresh)
        return self._run(
            opts,
            "scatter",
            send,
            landing.moved,
            "sum",
            opts.rootRank,
            (),
            [output],
            landing.copy_back,
        )

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Work:
        # Ranks know only their own counts, so all of them make the call that takes any.
        send, recv = Parts(self._one_per_rank(inputs)), Parts(self._one_per_rank(outputs))
        landing, copy_back = recv.landing()
        gathered = send.gathered()
        if share_memory(gathered, landing):
            gathered = gathered.clone()
        return self._exchange(
            opts, gathered, send.counts, landing, recv.counts, recv.tensors, copy_back
        )

    def all_to_all_single(
        self,
        output: torch.Tensor,
        given: torch.Tensor,
        output_splits: Sequence[int],
        input_splits: Sequence[int],
        opts: Any = None,
    ) -> Work:
        """Splits: rows for, or from, each rank; none: as many for each.  PyTorch wants either of
        them on all ranks, or none."""
        if not output_splits and not input_splits:
            work = self._directly(opts, "alltoall", given, output)
            if work is not INDIRECT:
                return work
        landing, send = Landing(output), readable(given)
        recv = landing.moved
        if share_memory(send, recv):
            send = send.clone()
        if not output_splits and not input_splits:
            return self._run(
                opts, "alltoall", send, recv, "sum", 0, (), [output], landing.copy_back
            )
        return self._exchange(
            opts,
            send,
            self._counts(given, send, input_splits, "input"),
            recv,
            self._counts(output, recv, output_splits, "output"),
            [output],
            landing.copy_back,
        )

    def _counts(
        self, tensor: torch.Tensor, moved: torch.Tensor, splits: Sequence[int], what: str
    ) -> list[int]:
        """Elements for each rank, as the core counts them."""
        rows = tensor.size(0) if tensor.dim() else 1
        if not splits:
            if rows % self._size:
                raise ArgumentError(
                    f"all_to_all_single: {rows} rows of the {what} cannot be divided among "
                    f"{self._size} ranks; pass {what}_split_sizes"
                )
            splits = [rows // self._size] * self._size
        if len(splits) != self._size or sum(splits) != rows:
            raise ArgumentError(
                f"all_to_all_single: {what}_split_sizes {list(splits)} do not divide {rows} rows "
                f"among {self._size} ranks"
            )
        row = moved.numel() // rows if rows else 0
        return [split * row for split in splits]

    # ---- synchronization

    def barrier(self, opts: Any = None) -> Work:
        if self._has_devices:
            self._await_streams(opts)
        return self._run(opts, "barrier", None, None)

    # ---- memory

    def supports_tensor_alloc(self, device: int) -> bool:
        return True

    def allocate_tensor(self, size: int, options: Any = None, **form: Any) -> torch.Tensor:
        """What FSDP2's set_allocate_memory_from_process_group_for_comm asks for: `size` elements
        in memory that all ranks of this host use in place, on the CPU or a device."""
        dtype, device = form.get("dtype"), form.get("device")
        if device is not None and torch.device(device).type == "cuda":
            return on_device((size,), dtype, torch.device(device))
        return shared(self.communicator, (size,), dtype)

    @property
    def mem_allocator(self) -> Any:
        """For `torch.cuda.MemPool`: tensors of such a pool lie in memory of that kind."""
        return allocator()

    # ---- life

    def set_timeout(self, timeout: timedelta) -> None:
        """Limits every later call, as `timeout` of init_process_group."""
        self._timeout = timeout
        self.communicator.set_timeout(timeout.total_seconds())

    def shutdown(self) -> None:
        """Leaves the group; destroy_process_group calls this."""
        flights.forget(self)
        self.communicator.finalize()

    def abort(self) -> None:
        """Ends the calls of all ranks, also of those that wait, with an error; at once."""
        self.communicator.abort("the process group was aborted")

    def _get_sequence_number_for_group(self) -> int:
        return self._calls

    def _set_sequence_number_for_group(self) -> None:
        self._calls = 0

    # ---- names of PyTorch 2.13

    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single


def only_list(lists: Lists, what: str) -> Tensors:
    if len(lists) != 1:
        raise ArgumentError(f"{what}: one list of tensors per rank is wanted, not {len(lists)}")
    return lists[0]


def _reduce_op(opts: Any) -> Any:
    """Callers of a process group's own methods may pass an operation in place of options."""
    if opts is None:
        return torch.distributed.ReduceOp.SUM
    return getattr(opts, "reduceOp", opts)
