// SPDX-License-Identifier: BSD-3-Clause
#include "net/secret.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::net {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr char kHowToMake[] = "make one by `stretto secret` and put the same on every host, or let "
                              "the launcher set STRETTO_SECRET on all ranks";

std::string value_of(Setting setting, const Environment &environment) {
    const char *value = environment(info(setting).variable.data());
    return value != nullptr ? value : "";
}

void wipe(std::string &text) {
    net::wipe(std::as_writable_bytes(std::span(text.data(), text.size())));
}

} // namespace

Secret::Secret(std::string value, SecretSource source, std::string origin)
    : source_(source), origin_(std::move(origin)) {
    const std::size_t first = std::min(value.find_first_not_of(kSpace), value.size());
    const std::size_t end = value.find_last_not_of(kSpace) + 1; // npos + 1 is 0
    const std::size_t size = end > first ? end - first : 0;
    if (size >= kLeastBytes && size <= kMostBytes)
        value_.assign(value, first, size);
    wipe(value);
    if (value_.empty())
        throw Error(Status::argument, "the secret in " + shown(origin_) + " has " +
                                          std::to_string(size) + " characters; it takes from " +
                                          std::to_string(kLeastBytes) + " to " +
                                          std::to_string(kMostBytes) + "; " + kHowToMake);
}

Secret::~Secret() {
    wipe(value_);
}

Key Secret::job_key(std::string_view job, std::uint64_t size) const {
    const Key root(KeyedHash("stretto secret").add(value_).finish());
    return Key(KeyedHash(root, "stretto job").add(job).add(size).finish());
}

std::string secret_file(const Environment &environment) {
    if (std::string file = value_of(Setting::secret_file, environment); !file.empty())
        return file;
    const char *const config = environment("XDG_CONFIG_HOME");
    if (config != nullptr && *config == '/') // a relative path counts as not set
        return std::string(config) + "/stretto/secret";
    const char *const home = environment("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.config/stretto/secret" : "";
}

Secret load_secret(const Environment &environment) {
    if (std::string value = value_of(Setting::secret, environment); !value.empty())
        return {std::move(value), SecretSource::setting,
                std::string(info(Setting::secret).variable)};
    const std::string file = secret_file(environment);
    if (file.empty())
        throw Error(Status::argument, "there is no secret: STRETTO_SECRET and STRETTO_SECRET_FILE "
                                      "are not set, and this process has no home; " +
                                          std::string(kHowToMake));
    if (access(file.c_str(), F_OK) != 0 && errno == ENOENT)
        throw Error(Status::argument, "there is no secret, without which ranks on several hosts do "
                                      "not trust one another: STRETTO_SECRET is not set, and " +
                                          shown(file) + " is not there; " + kHowToMake);
    return {private_text(file), SecretSource::file, file};
}

} // namespace stretto::net
