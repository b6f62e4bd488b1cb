// SPDX-License-Identifier: BSD-3-Clause
// Reads a file that no other user may read or replace.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/interrupted.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"
#include "net/secret.hpp"

namespace stretto::net {

namespace {

[[noreturn]] void refuse(const std::string &path, const std::string &why,
                         const std::string &remedy) {
    throw Error(Status::argument,
                "the secret in " + shown(path) + " is not used: " + why + "; " + remedy);
}

[[noreturn]] void cannot_read(const std::string &path) {
    const int code = errno;
    throw Error(Status::system, "cannot read the secret in " + shown(path) + ": " +
                                    std::strerror(code) +
                                    "; make it readable for this user alone, or set "
                                    "STRETTO_SECRET");
}

std::string folder_of(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string real_path(const std::string &path) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (real == nullptr)
        cannot_read(path);
    return real.get();
}

bool of_user_or_root(const struct stat &status) {
    return status.st_uid == geteuid() || status.st_uid == 0;
}

// A user who may write into a folder may replace a file in it, unless the folder has the sticky bit
// (as /tmp), by which only owners may rename.
void check_folders(const std::string &path, std::string folder) {
    for (;; folder = folder_of(folder)) {
        struct stat status{};
        if (stat(folder.c_str(), &status) != 0)
            cannot_read(path);
        const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
        if (others_write && (status.st_mode & S_ISVTX) == 0)
            refuse(path, "others may write into the folder " + shown(folder),
                   "chmod go-w '" + shown(folder) + "'");
        if (!of_user_or_root(status))
            refuse(path, "the folder " + shown(folder) + " belongs to another user",
                   "keep the secret in a folder of your own, or set STRETTO_SECRET");
        if (folder == "/")
            return;
    }
}

} // namespace

std::string private_text(const std::string &path) {
    // Checks the folder of the target and the folder of the name: a link is as safe as the folder
    // that holds it.
    const std::string real = real_path(path);
    check_folders(path, real_path(folder_of(path)));
    check_folders(path, folder_of(real));
    // Opens without blocking: a pipe would make this process wait for its writer.
    const Descriptor file(uninterrupted(
        [&] { return open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
    struct stat status{};
    if (!file.open() || fstat(file.get(), &status) != 0)
        cannot_read(path);
    if (!S_ISREG(status.st_mode))
        refuse(path, "that is no regular file", "name a file with the secret in it");
    if (!of_user_or_root(status))
        refuse(path, "it belongs to another user", "make one of your own by `stretto secret`");
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        refuse(path, "others may read or write it",
               "chmod 600 '" + shown(path) +
                   "', and make a new one if another user may have read it");
    // Reads one character more than a secret may have, to see whether the text is too long.
    std::string text(Secret::kMostBytes + sizeof("\r\n"), '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t more =
            uninterrupted([&] { return read(file.get(), text.data() + size, text.size() - size); });
        if (more < 0)
            cannot_read(path);
        if (more == 0)
            break;
        size += static_cast<std::size_t>(more);
    }
    text.resize(size);
    return text;
}

} // namespace stretto::net
