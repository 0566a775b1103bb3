// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/check_build.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator next(folder, error), end; !error && next != end;
       next.increment(error)) {
    entries.push_back(next->path());
  }
  return entries;
}

// Where the library, its modules and the Python package may be.
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

bool can_be_loaded(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return false;
  dlclose(handle);
  return true;
}

std::string box(bool filled, const char* what) {
  return absl::StrCat("    [", filled ? "X" : " ", "] ", what, "\n");
}

}  // namespace

Installation installation_of(const std::string& path, const std::string& nccl) {
  std::error_code error;
  const fs::path launcher = fs::canonical(path, error);
  Installation found = {.nccl = can_be_loaded(nccl)};
  for (const fs::path& folder : folders_of(error ? fs::path(path) : launcher)) {
    const fs::path packages = folder.parent_path();
    found.nccl = found.nccl ||
                 fs::exists(packages / "nvidia/nccl/lib/libnccl.so.2", error);
    for (const fs::path& entry : entries_of(folder)) {
      const std::string name = entry.filename().string();
      if (!absl::StrContains(name, ".so")) continue;
      found.torch = found.torch || absl::StartsWith(name, "_core.");
      found.mpi = found.mpi || absl::StartsWith(name, "libhorovodpp_mpi_");
    }
  }
  return found;
}

std::string to_text(const Installation& installation,
                    const std::string& version) {
  return absl::StrCat(
      "Horovod v", version, ":\n\nAvailable Frameworks:\n",
      box(false, "TensorFlow"), box(installation.torch, "PyTorch"),
      box(false, "MXNet"), "\nAvailable Controllers:\n",
      box(installation.mpi, "MPI"), box(false, "Gloo"),
      "\nAvailable Tensor Operations:\n", box(installation.nccl, "NCCL"),
      box(false, "DDL"), box(false, "CCL"), box(installation.mpi, "MPI"),
      box(false, "Gloo"));
}

}  // namespace hvd::launcher
