// SPDX-License-Identifier: BSD-3-Clause
// Strict access to a JSON document from any source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace stretto::schedule {

// A value and its place.  Every function throws Error(argument) that names the place, as
// "programs[3].ops[5].peer"; the name is put together only for an error.  A Value refers to the one
// that it was taken from.
class Value {
public:
    // `kind`: of the document, as errors begin: "schedule JSON".
    Value(const nlohmann::json &json, const char *kind) : json_(json), key_(kind) {}

    Value operator[](const char *key) const;
    Value operator[](std::size_t index) const;
    bool has(const char *key) const { return json_.contains(key); }
    bool null() const { return json_.is_null(); }
    [[noreturn]] void fail(const std::string &what) const;

    // Checks that this is an object with all keys of `required`, perhaps some of `optional`, and no
    // others.
    void object(std::initializer_list<const char *> required,
                std::initializer_list<const char *> optional = {}) const;
    // The length of an array of at most `most` elements.
    std::size_t array(std::int64_t most) const;
    std::int32_t integer(std::int64_t least, std::int64_t most) const;
    std::vector<std::int32_t> integers(std::int64_t least, std::int64_t most) const;
    std::uint64_t natural() const;
    double number(double least, double most) const;
    std::string string() const;

private:
    Value(const nlohmann::json &json, const Value *parent, const char *key, std::size_t index)
        : json_(json), parent_(parent), key_(key), index_(index) {}
    std::string place() const;
    const char *kind() const { return parent_ == nullptr ? key_ : parent_->kind(); }

    const nlohmann::json &json_;
    const Value *parent_ = nullptr;
    const char *key_ = nullptr; // of the document its kind; or, in an array:
    std::size_t index_ = 0;
};

// A parsed text.  While it reads, it refuses a text that is nested too deep, has too many values,
// or has the same key twice in one object.
class Document {
public:
    explicit Document(std::string_view text, const char *kind = "schedule JSON");
    Value root() const { return {json_, kind_}; }

private:
    const char *const kind_;
    nlohmann::json json_;
};

} // namespace stretto::schedule
