// SPDX-License-Identifier: BSD-3-Clause
// The environment of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace test {

// A variable for as long as this lives; then it has its value again.
class With {
public:
    With(const char *name, const char *value) : name_(name) {
        if (const char *const before = std::getenv(name))
            before_ = before;
        setenv(name, value, 1);
    }
    ~With() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }
    With(const With &) = delete;
    With &operator=(const With &) = delete;

private:
    const char *name_;
    std::optional<std::string> before_;
};

} // namespace test
