// SPDX-License-Identifier: BSD-3-Clause
// Where the secret comes from, and who else might know it.
#include "doctest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "base/settings.hpp"
#include "base/status.hpp"
#include "net/secret.hpp"

using namespace stretto;
using net::load_secret;
using net::Secret;
namespace fs = std::filesystem;

namespace {

const std::string kValue = "0123456789abcdef0123456789abcdef";

// A folder of this user that is gone with its owner.
class Folder {
public:
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "stretto-secret-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    std::string operator/(const char *name) const { return (path_ / name).string(); }
    std::string file(const char *name, const std::string &text, mode_t mode = 0600) const {
        const std::string path = *this / name;
        fs::create_directories(fs::path(path).parent_path());
        std::ofstream(path) << text;
        REQUIRE(chmod(path.c_str(), mode) == 0);
        return path;
    }
    const fs::path &path() const { return path_; }

private:
    fs::path path_;
};

Environment with(const std::map<std::string, std::string> &variables) {
    return [variables](const char *name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

Environment with_file(const std::string &path) {
    return with({{"STRETTO_SECRET_FILE", path}});
}

// Of what is refused; none shows the value.
std::string refusal(const Environment &environment, Status status = Status::argument) {
    try {
        load_secret(environment);
    } catch (const Error &error) {
        CHECK(error.status() == status);
        CHECK(std::string(error.what()).find("abcdef") == std::string::npos);
        return error.what();
    }
    return "";
}

bool has(const std::string &text, const std::string &part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
    return text.find(part) != std::string::npos;
}

auto key_of(const Secret &secret, const char *job = "job", std::uint64_t size = 4) {
    return secret.job_key(job, size).bytes();
}

} // namespace

TEST_CASE("the secret comes from the environment, then from its file, then from the default file") {
    const Folder home;
    const std::string mine = home.file("mine", kValue + "x\n");
    home.file("config/stretto/secret", kValue + "y\n");
    home.file(".config/stretto/secret", kValue + "z\n");
    std::map<std::string, std::string> variables = {{"STRETTO_SECRET", kValue},
                                                    {"STRETTO_SECRET_FILE", mine},
                                                    {"XDG_CONFIG_HOME", home / "config"},
                                                    {"HOME", home.path().string()}};
    const auto loaded_from = [&] { return load_secret(with(variables)).origin(); };
    CHECK(loaded_from() == "STRETTO_SECRET");
    CHECK(load_secret(with(variables)).source() == net::SecretSource::setting);
    variables["STRETTO_SECRET"] = ""; // set to nothing is not set
    CHECK(loaded_from() == mine);
    CHECK(load_secret(with(variables)).source() == net::SecretSource::file);
    variables.erase("STRETTO_SECRET_FILE");
    CHECK(loaded_from() == home / "config/stretto/secret");
    variables["XDG_CONFIG_HOME"] = "config"; // relative: does not count
    CHECK(loaded_from() == home / ".config/stretto/secret");
}

TEST_CASE("where there is none, the error says how to make one") {
    const Folder home;
    const std::string none = refusal(with({{"HOME", home.path().string()}}));
    has(none, home / ".config/stretto/secret");
    has(none, "stretto secret");
    has(none, "STRETTO_SECRET");
    has(refusal(with({})), "no home");
    has(refusal(with_file(home / "nothing")), "is not there");
}

TEST_CASE("a secret is long enough, and white space around it is none of it") {
    const Folder folder;
    const auto plain = key_of(load_secret(with({{"STRETTO_SECRET", kValue}})));
    for (const char *around : {"\n", "\r\n", " \t\n\n"})
        CHECK(key_of(load_secret(with_file(folder.file("s", around + kValue + around)))) == plain);
    has(refusal(with({{"STRETTO_SECRET", kValue.substr(1)}})), "has 31 characters");
    has(refusal(with({{"STRETTO_SECRET", " \n "}})), "has 0 characters");
    has(refusal(with_file(folder.file("short", "abcdef\n"))), "from 32 to 4096");
    has(refusal(with_file(folder.file("empty", ""))), "stretto secret");
    CHECK_NOTHROW(load_secret(with_file(folder.file("most", std::string(4096, 'm') + "\n"))));
    CHECK(refusal(with_file(folder.file("long", std::string(4097, 'l')))) != "");
    CHECK(refusal(with_file(folder.file("longer", std::string(100'000, 'l')))) != "");
}

TEST_CASE("each job has a key of its own") {
    const Secret secret(kValue, net::SecretSource::setting, "test");
    CHECK(key_of(secret, "job", 4) == key_of(secret, "job", 4));
    CHECK(key_of(secret, "job", 4) != key_of(secret, "job", 5));
    CHECK(key_of(secret, "job", 4) != key_of(secret, "jod", 4));
    const Secret other(kValue + "!", net::SecretSource::setting, "test");
    CHECK(key_of(secret) != key_of(other));
}

TEST_CASE("a file that others may read is refused") {
    const Folder folder;
    for (const mode_t mode : {0640, 0604, 0660, 0602, 0610, 0777}) {
        CAPTURE(mode);
        const std::string why = refusal(with_file(folder.file("s", kValue, mode)));
        has(why, "others may read or write it");
        has(why, "chmod 600");
    }
    CHECK_NOTHROW(load_secret(with_file(folder.file("s", kValue, 0400))));
    CHECK_NOTHROW(load_secret(with_file(folder.file("s", kValue, 0700))));
}

TEST_CASE("a file that others may put another in place of is refused") {
    const Folder folder;
    const std::string file = folder.file("open/inner/secret", kValue);
    CHECK_NOTHROW(load_secret(with_file(file)));
    for (const mode_t mode : {0770, 0707}) {
        REQUIRE(chmod((folder / "open").c_str(), mode) == 0);
        const std::string why = refusal(with_file(file));
        has(why, "others may write into the folder " + folder / "open");
        has(why, "chmod go-w");
    }
    REQUIRE(chmod((folder / "open").c_str(), 01777) == 0); // as /tmp: only owners rename
    CHECK_NOTHROW(load_secret(with_file(file)));
}

TEST_CASE("links are followed, and both their ends must be safe") {
    const Folder folder;
    const std::string file = folder.file("kept/secret", kValue);
    fs::create_directories(folder / "open");
    fs::create_symlink(file, folder / "link");
    fs::create_symlink(file, folder / "open/link");
    CHECK_NOTHROW(load_secret(with_file(folder / "link")));
    REQUIRE(chmod((folder / "open").c_str(), 0777) == 0);
    has(refusal(with_file(folder / "open/link")), folder / "open"); // the link can be replaced
    fs::rename(file, folder / "open/secret");
    fs::create_symlink(folder / "open/secret", folder / "to-open");
    has(refusal(with_file(folder / "to-open")), folder / "open"); // what it leads to can
    fs::create_symlink(folder / "loop", folder / "loop");
    CHECK(refusal(with_file(folder / "loop"), Status::system) != "");
}

TEST_CASE("a secret file of another user is refused") {
    if (geteuid() != 0)
        return; // nothing can be given away
    const Folder folder;
    constexpr uid_t kSomebody = 12345;
    const std::string file = folder.file("theirs/secret", kValue);
    REQUIRE(chown(file.c_str(), kSomebody, kSomebody) == 0);
    has(refusal(with_file(file)), "belongs to another user");
    REQUIRE(chown(file.c_str(), 0, 0) == 0);
    REQUIRE(chown((folder / "theirs").c_str(), kSomebody, kSomebody) == 0);
    has(refusal(with_file(file)), "the folder " + folder / "theirs");
}

TEST_CASE("a path that is no regular file is refused without waiting") {
    const Folder folder;
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    has(refusal(with_file(folder / "pipe")), "no regular file");
    has(refusal(with_file(folder.path().string())), "no regular file");
    has(refusal(with_file("/dev/null")), "no regular file");
}

TEST_CASE("the value of a secret is never shown") {
    const auto environment = with({{"STRETTO_SECRET", kValue}});
    for (const SettingState &state : settings_in_force(environment)) {
        CHECK(state.value.find("abcdef") == std::string::npos);
        if (state.info->setting == Setting::secret) {
            CHECK(state.value == "set");
            CHECK(state.source == SettingSource::environment);
        }
    }
    const auto unset = settings_in_force(with({}));
    CHECK(unset[static_cast<std::size_t>(Setting::secret)].value == "");
    const char *const misspelt[] = {"STRETTO_SECRT=abcdef", "STRETTO_SECRETS=abcdef",
                                    "STRETTO_SECRET_KEY=abcdef", "STRETTO_TIMEOT=3", nullptr};
    const auto told = unknown_settings(misspelt);
    REQUIRE(told.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(told[i].value == "set");
        CHECK(told[i].sentence.find("abcdef") == std::string::npos);
    }
    CHECK(told[3].value == "3");
}
