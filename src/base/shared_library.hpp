// SPDX-License-Identifier: BSD-3-Clause
// Functions of libraries that are loaded at run time.
#pragma once

#include <string>
#include <utility>

namespace stretto {

// A library that dlopen() has opened.  It stays open: its functions may be used until the process
// ends.
class SharedLibrary {
public:
    // `handle`: of dlopen(); `remedy`, for messages: "; install ..." or "".
    SharedLibrary(void *handle, std::string name, std::string remedy = "")
        : handle_(handle), name_(std::move(name)), remedy_(std::move(remedy)) {}

    // Throws Error(system) "<library> has no function <name><remedy>".
    template<class Function>
    void find(const char *name, Function *&function) const {
        function = reinterpret_cast<Function *>(address(name));
    }

private:
    void *address(const char *name) const;

    void *handle_;
    std::string name_, remedy_;
};

// What dlerror() says of the last failure, "no reason given" if it says nothing.
std::string dl_reason();

} // namespace stretto
