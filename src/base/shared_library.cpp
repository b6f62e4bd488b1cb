// SPDX-License-Identifier: BSD-3-Clause
#include "base/shared_library.hpp"

#include <dlfcn.h>

#include "base/status.hpp"

namespace stretto {

void *SharedLibrary::address(const char *name) const {
    void *const found = dlsym(handle_, name);
    if (found == nullptr)
        throw Error(Status::system, name_ + " has no function " + name + remedy_);
    return found;
}

std::string dl_reason() {
    const char *const why = dlerror();
    return why == nullptr ? "no reason given" : why;
}

} // namespace stretto
