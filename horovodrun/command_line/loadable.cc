// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/loadable.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

// More than any MPI's MPI_MAX_LIBRARY_VERSION_STRING.
constexpr std::size_t kLongestVersion = 16384;

// "12.4" for 12040, "2.27.3" for 22703.
std::string dotted(int number, int unit, bool with_patch) {
  const std::string version =
      absl::StrCat(number / unit, ".", number % unit / (with_patch ? 100 : 10));
  return with_patch ? absl::StrCat(version, ".", number % 100) : version;
}

// Calls `function`, of type F, of the library.
template <typename F, typename Ask>
LibraryVersion ask_here(const std::string& library, const char* function,
                        const Ask& version) {
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return {false, ::dlerror()};
  auto* const call = reinterpret_cast<F*>(::dlsym(handle, function));
  if (call == nullptr) return {true, "of unknown version"};
  return {true, version(call)};
}

std::string all_of(int file) {
  std::string text;
  std::array<char, 4096> part = {};
  for (ssize_t got = 0; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Loads each library in a child process: of two libraries with the same name,
// such as two versions of an MPI, a process only loads the first.
template <typename F, typename Ask>
LibraryVersion ask(const std::string& library, const char* function,
                   const Ask& version) {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, std::strerror(errno)};
  const pid_t child = ::fork();
  if (child == 0) {
    const LibraryVersion found = ask_here<F>(library, function, version);
    const std::string text = absl::StrCat(found.is_there ? 1 : 0, found.text);
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  const std::string text = child < 0 ? "" : all_of(ends[0]);
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (text.empty()) return {false, "it ends a process that loads it"};
  return {text.front() == '1', text.substr(1)};
}

// For a library whose `function` returns the version as an integer.
LibraryVersion ask_number(const std::string& library, const char* function,
                          int unit, bool with_patch) {
  return ask<int(int*)>(library, function, [&](int (*call)(int*)) {
    int number = 0;
    return call(&number) == 0 ? dotted(number, unit, with_patch)
                              : std::string("of unknown version");
  });
}

}  // namespace

// Versions before 2.9, which are not supported, use another unit.
LibraryVersion version_of_nccl(const std::string& library) {
  return ask_number(library, "ncclGetVersion", 10000, true);
}

LibraryVersion version_of_cuda_driver(const std::string& library) {
  return ask_number(library, "cuDriverGetVersion", 1000, false);
}

LibraryVersion version_of_mpi_below(const std::string& library) {
  using Text = int(char*, int*);
  return ask<Text>(library, "MPI_Get_library_version", [](Text* call) {
    std::array<char, kLongestVersion> text = {};
    int length = 0;
    if (call(text.data(), &length) != 0) return std::string("unknown");
    const std::string whole(text.data());
    return whole.substr(0, whole.find('\n'));
  });
}

}  // namespace hvd::launcher
