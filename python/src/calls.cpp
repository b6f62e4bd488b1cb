// SPDX-License-Identifier: BSD-3-Clause
// What a rank has noted of its calls (arrival/call_log.hpp), for `stretto report`.
#include <nanobind/stl/string.h>

#include "arrival/call_log.hpp"
#include "arrival/history.hpp"
#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

using arrival::CallsOfRank;

nb::dict described(const CallsOfRank::Kind &kind, std::uint64_t since) {
    nb::list kept;
    for (const CallsOfRank::Call &call : kind.kept)
        if (call.begin >= since)
            kept.append(nb::make_tuple(call.number, call.begin, call.end,
                                       call.offset == arrival::kUnknown ? nb::object(nb::none())
                                                                        : nb::cast(call.offset)));
    nb::dict found;
    found["communicator"] = kind.what.communicator;
    found["communicator_name"] = kind.what.communicator_name;
    found["rank"] = kind.what.rank;
    found["size"] = kind.what.size;
    found["collective"] = kind.what.collective;
    found["dtype"] = kind.what.dtype;
    found["op"] = kind.what.op;
    found["root"] = kind.what.root;
    found["count"] = kind.what.count;
    found["bytes"] = kind.what.bytes;
    found["begun"] = kind.begun;
    found["complete"] = kind.complete;
    found["inside_ns"] = kind.inside;
    found["outside_ns"] = kind.outside;
    found["stride"] = kind.stride;
    found["kept"] = kept;
    return found;
}

nb::dict described(const arrival::QueueUse &queue) {
    nb::dict found;
    found["searches"] = queue.searches;
    found["looks"] = queue.looks;
    found["conversions"] = queue.conversions;
    found["deepest"] = queue.deepest;
    found["counted"] = queue.counted;
    found["source"] = queue.source;
    found["source_share"] = queue.source_share;
    found["tag"] = queue.tag;
    found["tag_share"] = queue.tag_share;
    return found;
}

// Of the calls that are kept, those that began at `since` or later, by the clock of the file.
nb::dict read(const std::string &path, std::uint64_t since) {
    const CallsOfRank calls = [&] {
        const nb::gil_scoped_release others_run;
        return arrival::read_calls(path);
    }();
    nb::list kinds;
    for (const CallsOfRank::Kind &kind : calls.kinds)
        kinds.append(described(kind, since));
    nb::dict found;
    found["job"] = calls.job;
    found["id"] = calls.job_id;
    found["rank"] = calls.rank;
    found["ranks"] = calls.ranks;
    found["host"] = calls.host;
    found["pid"] = calls.pid;
    found["clock"] = calls.clock;
    found["left_out"] = calls.left_out;
    found["posted"] = described(calls.posted);
    found["unexpected"] = described(calls.unexpected);
    found["kinds"] = kinds;
    return found;
}

} // namespace

void bind_calls(nb::module_ &module) {
    module.def("read_calls", &read, "path"_a, "since"_a = 0);
}

} // namespace stretto::python
