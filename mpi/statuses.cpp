// SPDX-License-Identifier: BSD-3-Clause
#include "statuses.hpp"

#include "host.hpp"

namespace stretto::mpi {

namespace {

class Statuses {
public:
    explicit Statuses(void *first) : first_(first) {}
    void *operator[](int i) const {
        return first_ == abi_.status_ignore // which stands for an array as well
                   ? first_
                   : static_cast<std::byte *>(first_) +
                         static_cast<std::size_t>(i) * abi_.status_bytes;
    }

private:
    const Abi &abi_ = MpiLibrary::get().abi();
    void *const first_;
};

Handle at(const void *requests, int i) {
    return MpiLibrary::get().abi().load(requests, static_cast<std::size_t>(i));
}

bool is_null(const void *requests, int i) {
    return at(requests, i) == MpiLibrary::get().abi().request_null;
}

} // namespace

int get_status_all(int count, const void *requests, int *flag, void *statuses) {
    const Statuses status(statuses);
    *flag = 1;
    for (int i = 0; i < count && *flag != 0; ++i)
        if (const int code = MpiLibrary::get().Request_get_status(at(requests, i), flag, status[i]);
            code != 0)
            return code;
    return 0;
}

int get_status_any(int count, const void *requests, int *index, int *flag, void *status) {
    bool any = false;
    *index = MpiLibrary::get().abi().undefined;
    *flag = 0;
    for (int i = 0; i < count; ++i) {
        if (is_null(requests, i))
            continue;
        any = true;
        const int code = MpiLibrary::get().Request_get_status(at(requests, i), flag, status);
        if (code != 0 || *flag != 0) {
            *index = i;
            return code;
        }
    }
    if (any)
        return 0;
    // A null request is complete and has an empty status.  Its error field is set as well:
    // functions for several requests write that field.
    *flag = 1;
    Handle null = MpiLibrary::get().abi().request_null;
    return MpiLibrary::get().Waitall(1, &null, status);
}

int get_status_some(int count, const void *requests, int *ended, int *indices, void *statuses) {
    const Statuses status(statuses);
    bool any = false;
    *ended = 0;
    for (int i = 0; i < count; ++i) {
        if (is_null(requests, i))
            continue;
        any = true;
        int flag = 0;
        const int code =
            MpiLibrary::get().Request_get_status(at(requests, i), &flag, status[*ended]);
        if (code != 0)
            return code;
        if (flag != 0)
            indices[(*ended)++] = i;
    }
    if (!any)
        *ended = MpiLibrary::get().abi().undefined;
    return 0;
}

} // namespace stretto::mpi
