// SPDX-License-Identifier: BSD-3-Clause
// The environment of a test.
#pragma once

#include <cstdlib>

namespace test {

// A variable for as long as this lives.
class With {
public:
    With(const char *name, const char *value) : name_(name) { setenv(name, value, 1); }
    ~With() { unsetenv(name_); }
    With(const With &) = delete;
    With &operator=(const With &) = delete;

private:
    const char *name_;
};

} // namespace test
