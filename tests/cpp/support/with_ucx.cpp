// SPDX-License-Identifier: BSD-3-Clause
// Runs a test if UCX is on this machine; says loudly if it is not.
#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

int main(int, char **arguments) {
    constexpr int kSkipped = 77; // SKIP_RETURN_CODE
    if (dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL) == nullptr) {
        std::fprintf(stderr, "SKIPPED: no test over UCX runs here (%s); Debian has it in libucx0\n",
                     dlerror());
        return kSkipped;
    }
    (void)execvp(arguments[1], arguments + 1);
    std::perror(arguments[1]);
    return 1;
}
