// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/check_build.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "horovodrun/command_line/described_version.h"
#include "horovodrun/command_line/loadable.h"

namespace hvd::launcher {
namespace {

namespace fs = std::filesystem;

constexpr char kMpiModule[] = "libhorovodpp_mpi_";
constexpr char kLibrary[] = "libhorovodpp.so";

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
  add("NCCL", described_gpu_library(nccl));
  add("CUDA", described_gpu_library(version_of_cuda_driver(libraries.cuda)));
  add("oneDNN", built_with_dnnl());
  add("planes",
      "shm, hierarchical, ring; for GPUs nccl, ipc, hierarchical-ipc, staged");
  const std::vector<fs::path> library = files_named(folders, kLibrary);
  add("C, C++", library.empty()
                    ? "no libhorovodpp.so beside this horovodrun"
                    : fs::canonical(library.front(), error).string());
  for (const fs::path& package : packages) {
    add("Python", described_package(package));
  }
  return found;
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
