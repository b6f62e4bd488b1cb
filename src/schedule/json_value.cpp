// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/json_value.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

#include "base/status.hpp"

namespace stretto::schedule {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostValues = 100'000'000;
constexpr int kMostLevels = 8; // a label of an op of a suffix is 7 levels deep

[[noreturn]] void refuse(const char *kind, const std::string &place, const std::string &what) {
    throw Error(Status::argument, std::string(kind) + ": " + place + ": " + what);
}

// Called by the parser at every event.
class Guard {
public:
    explicit Guard(const char *kind) : kind_(kind) {}
    bool operator()(int depth, Json::parse_event_t event, const Json &parsed) {
        using Event = Json::parse_event_t;
        if (depth > kMostLevels)
            refuse(kind_, "document",
                   "nested deeper than " + std::to_string(kMostLevels) + " levels");
        const bool value =
            event == Event::value || event == Event::object_start || event == Event::array_start;
        if (value && ++values_ > kMostValues)
            refuse(kind_, "document", "more than " + std::to_string(kMostValues) + " values");
        const auto level = static_cast<std::size_t>(depth);
        if (event == Event::object_start) { // its keys are reported one level deeper
            keys_.resize(std::max(keys_.size(), level + 2));
            keys_[level + 1].clear();
        }
        if (event == Event::key && !keys_[level].insert(parsed.get<std::string>()).second)
            refuse(kind_, "document", "key \"" + parsed.get<std::string>() + "\" stands twice");
        return true;
    }

private:
    const char *const kind_;
    std::int64_t values_ = 0;
    std::vector<std::set<std::string>> keys_; // of the open object of each level
};

} // namespace

Document::Document(std::string_view text, const char *kind) : kind_(kind) {
    Guard guard(kind);
    try {
        json_ = Json::parse(text, [&guard](int depth, Json::parse_event_t event, Json &parsed) {
            return guard(depth, event, parsed);
        });
    } catch (const Json::exception &error) {
        refuse(kind_, "document", error.what());
    }
}

Value Value::operator[](const char *key) const {
    return {json_.at(key), this, key, 0};
}
Value Value::operator[](std::size_t index) const {
    return {json_.at(index), this, nullptr, index};
}

void Value::fail(const std::string &what) const {
    refuse(kind(), place(), what);
}

std::string Value::place() const {
    if (parent_ == nullptr)
        return "document";
    std::string text = parent_->parent_ == nullptr ? "" : parent_->place();
    if (key_ == nullptr)
        return text.append("[").append(std::to_string(index_)).append("]");
    return text.append(text.empty() ? "" : ".").append(key_);
}

void Value::object(std::initializer_list<const char *> required,
                   std::initializer_list<const char *> optional) const {
    if (!json_.is_object())
        fail("expected an object");
    for (const char *key : required)
        if (!json_.contains(key))
            fail("missing key \"" + std::string(key) + "\"");
    for (const auto &entry : json_.items()) {
        const auto known = [&](const char *key) { return entry.key() == key; };
        if (std::none_of(required.begin(), required.end(), known) &&
            std::none_of(optional.begin(), optional.end(), known))
            fail("unknown key \"" + entry.key() + "\"");
    }
}

std::size_t Value::array(std::int64_t most) const {
    if (!json_.is_array())
        fail("expected an array");
    if (json_.size() > static_cast<std::size_t>(most))
        fail(std::to_string(json_.size()) + " elements; at most " + std::to_string(most) +
             " are allowed");
    return json_.size();
}

std::int32_t Value::integer(std::int64_t least, std::int64_t most) const {
    // The parser keeps numbers that are not negative as unsigned, which may exceed the signed
    // range.
    const bool readable =
        json_.is_number_unsigned()
            ? json_.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
            : json_.is_number_integer();
    if (!readable || json_.get<std::int64_t>() < least || json_.get<std::int64_t>() > most)
        fail("expected an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<std::int32_t>(json_.get<std::int64_t>());
}

std::vector<std::int32_t> Value::integers(std::int64_t least, std::int64_t most) const {
    std::vector<std::int32_t> read(array(kMostValues));
    for (std::size_t i = 0; i < read.size(); ++i)
        read[i] = (*this)[i].integer(least, most);
    return read;
}

std::uint64_t Value::natural() const {
    if (!json_.is_number_unsigned())
        fail("expected an integer from 0 to 2^64 - 1");
    return json_.get<std::uint64_t>();
}

double Value::number(double least, double most) const {
    const double read = json_.is_number() ? json_.get<double>() : least - 1;
    if (!(read >= least && read <= most)) {
        std::ostringstream words;
        words << "expected a number from " << least << " to " << most;
        fail(words.str());
    }
    return read;
}

std::string Value::string() const {
    if (!json_.is_string())
        fail("expected a string");
    return json_.get<std::string>();
}

} // namespace stretto::schedule
