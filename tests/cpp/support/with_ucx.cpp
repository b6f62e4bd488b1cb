// SPDX-License-Identifier: BSD-3-Clause
// Runs a test if UCX is on this machine; says loudly if it is not.
//
// with_ucx [--from MINOR] PROGRAM argument...      --from 14: not with UCX 1.13 and earlier
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace {

constexpr int kSkipped = 77; // SKIP_RETURN_CODE

// Of the loaded UCX 1.MINOR; later majors count as the latest.
unsigned minor_version(void *ucx) {
    using GetVersion = void (*)(unsigned *, unsigned *, unsigned *);
    const auto get = reinterpret_cast<GetVersion>(dlsym(ucx, "ucp_get_version"));
    unsigned numbers[3] = {0, 0, 0};
    if (get != nullptr)
        get(&numbers[0], &numbers[1], &numbers[2]);
    return numbers[0] > 1 ? ~0u : numbers[1];
}

} // namespace

int main(int, char **arguments) {
    void *const ucx = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (ucx == nullptr) {
        std::fprintf(stderr, "SKIPPED: no test over UCX runs here (%s); Debian has it in libucx0\n",
                     dlerror());
        return kSkipped;
    }
    char **program = arguments + 1;
    if (std::strcmp(program[0], "--from") == 0) {
        if (minor_version(ucx) < std::strtoul(program[1], nullptr, 10)) {
            std::fprintf(stderr, "SKIPPED: before 1.%s, UCX aborts in this test now and then\n",
                         program[1]);
            return kSkipped;
        }
        program += 2;
    }
    (void)execvp(program[0], program);
    std::perror(program[0]);
    return 1;
}
