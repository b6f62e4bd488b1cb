// SPDX-License-Identifier: BSD-3-Clause
#include "trace/events.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/status.hpp"
#include "base/types.hpp"

namespace stretto::trace {

namespace {

// JSON, as it is written.
class File {
public:
    explicit File(const std::string &path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
        check(file_ != nullptr);
    }
    void write(std::string_view text) {
        check(std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size());
    }
    void close() { check(std::fclose(file_.release()) == 0); }

private:
    struct Close {
        void operator()(std::FILE *file) const { std::fclose(file); }
    };
    void check(bool good) const {
        if (!good)
            throw_errno("cannot write the trace " + path_);
    }
    const std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
};

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        std::array<char, 8> escape{};
        if (letter == '"' || letter == '\\')
            result += {'\\', letter};
        else if (code < 0x20 || code >= 0x7f) { // names may hold bytes that are not UTF-8
            std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
            result += escape.data();
        } else
            result += letter;
    }
    return result + "\"";
}

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

// The format counts in microseconds.
std::string microseconds(std::uint64_t nanoseconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%llu.%03llu",
                  static_cast<unsigned long long>(nanoseconds / 1000),
                  static_cast<unsigned long long>(nanoseconds % 1000));
    return text.data();
}

// "key":value, of an object.
class Fields {
public:
    Fields &raw(std::string_view key, std::string_view value) {
        text_ += (text_.empty() ? "" : ",") + quoted(key) + ":";
        text_ += value;
        return *this;
    }
    Fields &text(std::string_view key, std::string_view value) { return raw(key, quoted(value)); }
    Fields &count(std::string_view key, std::uint64_t value) { return raw(key, number(value)); }
    Fields &yes(std::string_view key) { return raw(key, "true"); }
    std::string object() const { return "{" + text_ + "}"; }

private:
    std::string text_;
};

// A list of ranks; a word of the record holds the first four.
std::string list(std::uint64_t word, std::uint64_t count) {
    std::string text;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(4, count); ++i)
        text += (i > 0 ? "," : "") + number(word >> (16 * i) & 0xffff);
    return "[" + text + "]";
}

class Writer {
public:
    Writer(const Log &log, const std::string &path) : log_(log), file_(path) {}

    void write() {
        file_.write("{\"displayTimeUnit\":\"ns\",\"otherData\":" + about() +
                    ",\"traceEvents\":[\n");
        pair();
        describe_tracks();
        for (const Record &record : log_.records)
            event(record);
        for (const auto &[place, begun] : unfinished_)
            call(*begun, last_, true);
        file_.write("\n]}\n");
        file_.close();
    }

private:
    using Place = std::pair<std::uint16_t, std::uint64_t>; // communicator, number of the call

    // Two tracks for each communicator: its calls, and the bytes on its links.
    static std::uint64_t track(const Record &record) { return 2 * record.communicator + 1ull; }
    static std::uint64_t links(const Record &record) { return track(record) + 1; }

    std::string about() const {
        Fields fields;
        fields.text("producer", "stretto").text("job", log_.job);
        std::array<char, 17> id{};
        std::snprintf(id.data(), id.size(), "%016llx",
                      static_cast<unsigned long long>(log_.job_id));
        fields.text("id", id.data())
            .count("rank", static_cast<std::uint64_t>(log_.rank))
            .count("ranks", static_cast<std::uint64_t>(log_.ranks))
            .text("host", log_.host)
            .raw("pid", std::to_string(log_.pid))
            .text("clock", log_.clock);
        if (log_.offset)
            fields.raw("clock_offset_ns", std::to_string(*log_.offset));
        return fields.count("records", log_.records.size()).count("dropped", log_.dropped).object();
    }

    void put(const Fields &event) {
        file_.write((first_ ? "" : ",\n") + event.object());
        first_ = false;
    }

    Fields basic(std::string_view phase, std::uint64_t tid) const {
        Fields event;
        event.text("ph", phase).count("pid", static_cast<std::uint64_t>(log_.rank));
        return event.count("tid", tid);
    }

    void name_track(std::string_view what, std::uint64_t tid, const std::string &name) {
        put(basic("M", tid).text("name", what).raw("args", Fields().text("name", name).object()));
    }

    void describe_tracks() {
        name_track("process_name", 0,
                   "rank " + std::to_string(log_.rank) + " (" + log_.host + ", process " +
                       std::to_string(log_.pid) + ")");
        put(basic("M", 0)
                .text("name", "process_sort_index")
                .raw("args",
                     Fields().count("sort_index", static_cast<std::uint64_t>(log_.rank)).object()));
        for (std::size_t i = 0; i < log_.communicators.size(); ++i) {
            const Log::Communicator &communicator = log_.communicators[i];
            const std::string name = communicator.name + ": rank " +
                                     std::to_string(communicator.rank) + " of " +
                                     std::to_string(communicator.size);
            name_track("thread_name", 2 * i + 1, name);
            if (linked_.contains(i))
                name_track("thread_name", 2 * i + 2, name + ", links");
        }
    }

    // Finds the end of each call and of each wait that was recorded before its end, and the
    // communicators that have links.
    void pair() {
        std::map<Place, const Record *> begun;
        for (const Record &record : log_.records) {
            last_ = std::max({last_, record.begin, record.end});
            const Place place{record.communicator, record.first};
            if (record.kind == Kind::sent || record.kind == Kind::received)
                linked_.insert(record.communicator);
            else if (record.kind == Kind::call_begins)
                begun[place] = &record;
            else if (record.kind == Kind::wait)
                over_.insert({record.communicator, record.first, record.begin});
            else if (const auto call = begun.find(place);
                     record.kind == Kind::call_ends && call != begun.end()) {
                ends_[call->second] = record.begin;
                begun.erase(call);
            }
        }
        unfinished_ = std::move(begun);
    }

    void event(const Record &record) {
        switch (record.kind) {
        case Kind::call_begins:
            if (const auto end = ends_.find(&record); end != ends_.end())
                call(record, end->second, false);
            break;
        case Kind::step: step(record); break;
        case Kind::wait: wait(record, record.end, false); break;
        case Kind::waits:
            if (!over_.contains({record.communicator, record.first, record.begin}))
                wait(record, last_, true);
            break;
        case Kind::sent: transfer(record, "sent"); break;
        case Kind::received: transfer(record, "received"); break;
        case Kind::queue_converts: queue(record); break;
        case Kind::failure:
            put(basic("i", track(record))
                    .text("name", "failure")
                    .text("s", "p")
                    .raw("ts", microseconds(record.begin))
                    .raw("args", Fields().text("message", log_.name(record.a)).object()));
            break;
        case Kind::call_ends: break; // with its beginning
        }
    }

    void span(Fields event, std::uint64_t begin, std::uint64_t end, const Fields &args) {
        put(event.raw("ts", microseconds(begin))
                .raw("dur", microseconds(end - std::min(begin, end)))
                .raw("args", args.object()));
    }

    void call(const Record &record, std::uint64_t end, bool unfinished) {
        const std::string collective = log_.name(record.a & 0xffff);
        const auto dtype = record.fourth & 0xffff, op = record.fourth >> 16 & 0xff;
        Fields args;
        args.count("call", record.first)
            .text("collective", collective)
            .text("algorithm", log_.name(record.a >> 16));
        if ((record.flags & kHasData) != 0) {
            if ((record.flags & kByPairs) == 0)
                args.count("count", record.second).count("bytes", record.third);
            if (is_dtype(dtype))
                args.text("dtype", stretto::words(static_cast<Dtype>(dtype)));
        }
        if ((record.flags & kReduces) != 0 && op < kReduceOps)
            args.text("op", stretto::name(static_cast<ReduceOp>(op)));
        if (const std::uint64_t root = record.fourth >> 32; root != 0)
            args.count("root", root - 1);
        if ((record.flags & kSynchronizing) != 0)
            args.yes("synchronizing");
        if (unfinished)
            args.yes("unfinished");
        const std::string name = collective + ((record.flags & kByPairs) != 0 ? "v" : "");
        if ((record.flags & kNonblocking) == 0)
            return span(basic("X", track(record)).text("name", name).text("cat", "call"),
                        record.begin, end, args);
        // Several may be in flight at once, so they are no stack.
        const std::string id = std::to_string(log_.rank) + "." +
                               std::to_string(record.communicator) + "." + number(record.first);
        args.yes("nonblocking");
        put(basic("b", track(record))
                .text("name", name)
                .text("cat", "call")
                .text("id", id)
                .raw("ts", microseconds(record.begin))
                .raw("args", args.object()));
        put(basic("e", track(record))
                .text("name", name)
                .text("cat", "call")
                .text("id", id)
                .raw("ts", microseconds(end)));
    }

    void step(const Record &record) {
        const std::uint64_t sources = record.second & 0xffff,
                            readers = record.second >> 16 & 0xffff;
        const std::uint64_t operands = record.second >> 32;
        const bool publishes = (record.flags & kPublishes) != 0;
        const char *name = operands > 1   ? publishes ? "reduce and send" : "reduce"
                           : sources == 0 ? publishes ? "send" : "copy"
                           : publishes    ? "receive and send"
                                          : "receive";
        Fields args;
        args.count("call", record.first >> 32)
            .count("step", (record.first & 0xffffffff) + 1)
            .count("bytes", record.a)
            .raw("from", list(record.third, sources))
            .raw("to", list(record.fourth, readers));
        if (sources > 4)
            args.count("sources", sources);
        if (readers > 4)
            args.count("readers", readers);
        span(basic("X", track(record)).text("name", name).text("cat", "step"), record.begin,
             record.end, args);
    }

    void wait(const Record &record, std::uint64_t end, bool unfinished) {
        Fields args;
        args.count("call", record.first >> 32).count("step", (record.first & 0xffffffff) + 1);
        if (record.a != 0)
            args.count("for", record.a - 1);
        if (unfinished)
            args.yes("unfinished");
        const std::string awaited = record.a == 0 ? "another rank" : "rank " + number(record.a - 1);
        span(basic("X", track(record)).text("name", "wait for " + awaited).text("cat", "wait"),
             record.begin, end, args);
    }

    void queue(const Record &record) {
        const bool unexpected = (record.flags & kUnexpected) != 0;
        const std::string from = log_.name(record.first), to = log_.name(record.a);
        put(basic("i", track(record))
                .text("name", (unexpected ? "messages: " : "receives: ") + from + " to " + to)
                .text("cat", "queue")
                .text("s", "t")
                .raw("ts", microseconds(record.begin))
                .raw("args", Fields()
                                 .text("queue", unexpected ? "unexpected" : "posted")
                                 .text("from", from)
                                 .text("to", to)
                                 .count("items", record.second)
                                 .object()));
    }

    void transfer(const Record &record, const std::string &what) {
        const std::string peer = number(record.first);
        put(basic("i", links(record))
                .text("name", what + (what == "sent" ? " to rank " : " from rank ") + peer)
                .text("cat", "link")
                .text("s", "t")
                .raw("ts", microseconds(record.begin))
                .raw("args", Fields()
                                 .count("rank", record.first)
                                 .count("bytes", record.a)
                                 .count("total", record.second)
                                 .object()));
        put(basic("C", links(record))
                .text("name", "rank " + peer + " " + what)
                .raw("ts", microseconds(record.begin))
                .raw("args", Fields().count("bytes", record.second).object()));
    }

    const Log &log_;
    File file_;
    bool first_ = true;
    std::uint64_t last_ = 0;       // calls that are not over last until then, at least
    std::set<std::size_t> linked_; // communicators with ranks on other hosts
    std::map<const Record *, std::uint64_t> ends_;
    std::map<Place, const Record *> unfinished_;
    std::set<std::tuple<std::uint16_t, std::uint64_t, std::uint64_t>> over_; // waits
};

} // namespace

void write_events(const Log &log, const std::string &path) {
    Writer(log, path).write();
}

} // namespace stretto::trace
