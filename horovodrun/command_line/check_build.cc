// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/check_build.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace hvd::launcher {
namespace {

namespace fs = std::filesystem;

constexpr char kMpiModule[] = "libhorovodpp_mpi_";
constexpr char kUcxModule[] = "libhorovodpp_ucx.so";
constexpr char kLibrary[] = "libhorovodpp.so";

// The version of a shared library that this program does not link, or the
// reason why there is none.
struct LibraryVersion {
  bool is_there = false;
  std::string text;
};

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

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part = {};
  for (ssize_t got = 0; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Loads each library in a child process. Of two libraries with one name, such
// as two versions of an MPI, a process only loads the first.
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
  const std::string text = child < 0 ? "" : read_all(ends[0]);
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

// "2.27.3". Versions before 2.9, which are not supported, use another unit.
LibraryVersion version_of_nccl(const std::string& library) {
  return ask_number(library, "ncclGetVersion", 10000, true);
}

// The newest CUDA that the driver supports: "12.4".
LibraryVersion version_of_cuda_driver(const std::string& library) {
  return ask_number(library, "cuDriverGetVersion", 1000, false);
}

// Of the MPI that the library needs: "Open MPI v4.1.4, package: …".
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

// Of the UCX that the module needs: "1.13.1".
LibraryVersion version_of_ucx_below(const std::string& module) {
  using Text = const char*();
  return ask<Text>(module, "ucp_get_version_string",
                   [](Text* call) { return std::string(call()); });
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator next(folder, error), end; !error && next != end;
       next.increment(error)) {
    entries.push_back(next->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// The folders in which the library, its modules and the Python package may be.
std::vector<fs::path> folders_of(const fs::path& launcher) {
  const fs::path root = launcher.parent_path().parent_path();
  std::vector<fs::path> folders = {root / "lib", root / "lib64",
                                   root / "horovodpp",
                                   root / "bindings" / "horovodpp"};
  for (const fs::path& entry : entries_of(root / "lib")) {
    const std::string name = entry.filename().string();
    if (absl::StrContains(name, "-linux-")) folders.push_back(entry);
    if (!absl::StartsWith(name, "python")) continue;
    for (const char* const packages : {"site-packages", "dist-packages"}) {
      folders.push_back(entry / packages / "horovodpp");
    }
  }
  return folders;
}

// The files of `folders` whose names begin with `name`, each name once.
std::vector<fs::path> files_named(const std::vector<fs::path>& folders,
                                  const std::string& name) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : entries_of(folder)) {
      const std::string own = file.filename().string();
      const auto is_same = [&](const fs::path& other) {
        return other.filename() == file.filename();
      };
      if (absl::StartsWith(own, name) && absl::StrContains(own, ".so") &&
          std::none_of(files.begin(), files.end(), is_same)) {
        files.push_back(file);
      }
    }
  }
  return files;
}

// "openmpi4: Open MPI v4.1.4, package: …".
std::string described_module(const fs::path& module) {
  const std::string name = module.filename().string();
  const LibraryVersion below = version_of_mpi_below(module.string());
  return absl::StrCat(
      absl::StripSuffix(absl::StripPrefix(name, kMpiModule), ".so"),
      below.is_there ? ": " : ": cannot be loaded, ", below.text);
}

// "1.13.1".
std::string described_ucx_module(const std::vector<fs::path>& modules) {
  if (modules.empty()) return "no module: tensors travel by TCP or MPI";
  const LibraryVersion below = version_of_ucx_below(modules.front().string());
  return absl::StrCat(below.is_there ? "" : "cannot be loaded, ", below.text);
}

// "CPython 3.11" for _core.cpython-311-x86_64-linux-gnu.so; includes the
// version of the PyTorch next to it.
std::string described_package(const fs::path& module) {
  std::string python = "Python 3";
  const std::string name = module.filename().string();
  constexpr char kTag[] = ".cpython-3";
  if (const std::size_t at = name.find(kTag); at != std::string::npos) {
    const std::size_t from = at + sizeof(kTag) - 1;
    python = absl::StrCat(
        "CPython 3.", name.substr(from, name.find_first_of("-.", from) - from));
  }
  for (const fs::path& entry : entries_of(module.parent_path().parent_path())) {
    const std::string other = entry.filename().string();
    if (absl::StartsWith(other, "torch-") &&
        absl::EndsWith(other, ".dist-info")) {
      absl::StrAppend(
          &python, ", PyTorch ",
          absl::StripSuffix(absl::StripPrefix(other, "torch-"), ".dist-info"));
    }
  }
  return absl::StrCat(python, ", in ", module.parent_path().string());
}

std::string described_gpu_library(const LibraryVersion& found) {
  return found.is_there ? found.text : absl::StrCat("none: ", found.text);
}

std::string box(bool filled, const char* what) {
  return absl::StrCat("    [", filled ? "X" : " ", "] ", what, "\n");
}

}  // namespace

Installation installation_of(const std::string& path,
                             const GpuLibraries& libraries) {
  std::error_code error;
  const fs::path launcher = fs::canonical(path, error);
  const std::vector<fs::path> folders =
      folders_of(error ? fs::path(path) : launcher);
  const std::vector<fs::path> packages = files_named(folders, "_core.");
  const std::vector<fs::path> modules = files_named(folders, kMpiModule);
  LibraryVersion nccl = version_of_nccl(libraries.nccl);
  for (const fs::path& folder : folders) {
    const fs::path brought =
        folder.parent_path() / "nvidia/nccl/lib/libnccl.so.2";
    if (!nccl.is_there && fs::exists(brought, error)) {
      nccl = {true, version_of_nccl(brought.string()).text};
    }
  }
  Installation found = {.torch = !packages.empty(),
                        .mpi = !modules.empty(),
                        .nccl = nccl.is_there};
  const auto add = [&](const char* part, const std::string& what) {
    found.parts.emplace_back(part, what);
  };
  for (const fs::path& module : modules) add("MPI", described_module(module));
  if (modules.empty()) add("MPI", "no module: ranks are on one host");
  add("UCX", described_ucx_module(files_named(folders, kUcxModule)));
  add("NCCL", described_gpu_library(nccl));
  add("CUDA", described_gpu_library(version_of_cuda_driver(libraries.cuda)));
  add("oneDNN", built_with_dnnl());
  add("planes", "shm, hierarchical, ring; for GPUs nccl, ipc, staged");
  const std::vector<fs::path> library = files_named(folders, kLibrary);
  add("C, C++", library.empty()
                    ? "no libhorovodpp.so beside this horovodrun"
                    : fs::canonical(library.front(), error).string());
  for (const fs::path& package : packages) {
    add("Python", described_package(package));
  }
  return found;
}

// In a child process: the driver starts threads, and horovodrun has none.
int gpu_count(const std::string& cuda_library) {
  const LibraryVersion answer =
      ask<int(int*)>(cuda_library, "cuDeviceGetCount", [&](int (*count)(int*)) {
        void* const library = ::dlopen(cuda_library.c_str(), RTLD_LAZY);
        auto* const start =
            reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
        int gpus = 0;
        const bool found =
            start != nullptr && start(0) == 0 && count(&gpus) == 0;
        return absl::StrCat(found ? gpus : 0);
      });
  int gpus = 0;
  return answer.is_there && absl::SimpleAtoi(answer.text, &gpus) ? gpus : 0;
}

std::string to_text(const Installation& installation,
                    const std::string& version) {
  std::string text = absl::StrCat(
      "Horovod v", version, ":\n\nAvailable Frameworks:\n",
      box(false, "TensorFlow"), box(installation.torch, "PyTorch"),
      box(false, "MXNet"), "\nAvailable Controllers:\n",
      box(installation.mpi, "MPI"), box(false, "Gloo"),
      "\nAvailable Tensor Operations:\n", box(installation.nccl, "NCCL"),
      box(false, "DDL"), box(false, "CCL"), box(installation.mpi, "MPI"),
      box(false, "Gloo"));
  absl::StrAppend(&text, "\nOf horovodpp:\n");
  for (const auto& [part, what] : installation.parts) {
    absl::StrAppendFormat(&text, "    %-8s %s\n", part, what);
  }
  return text;
}

}  // namespace hvd::launcher
