// SPDX-License-Identifier: BSD-3-Clause
// A cache: values by key.  A look-up is skipped if the key is that of the last call, since most
// callers repeat themselves.
#pragma once

#include <unordered_map>
#include <utility>

namespace stretto {

template<class Key, class Value, class Hash>
class Memo {
public:
    bool has(const Key &key) const {
        return (last_ != nullptr && key == last_key_) || values_.contains(key);
    }
    // `make()` gives the value of a key that is new.  Values stay where they are until clear().
    template<class Make>
    Value &get(const Key &key, Make &&make) {
        if (last_ != nullptr && key == last_key_) [[likely]]
            return *last_;
        auto found = values_.find(key);
        if (found == values_.end()) {
            Value made = std::forward<Make>(make)();
            found = values_.emplace(key, std::move(made)).first;
        }
        last_key_ = key;
        last_ = &found->second; // which stays where it is
        return *last_;
    }

    void clear() {
        last_ = nullptr;
        values_.clear();
    }

    auto begin() { return values_.begin(); }
    auto end() { return values_.end(); }

private:
    Key last_key_{};
    Value *last_ = nullptr;
    std::unordered_map<Key, Value, Hash> values_;
};

} // namespace stretto
