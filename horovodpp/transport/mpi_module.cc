// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi_module.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/version.h"
#include "horovodpp/transport/loaded_mpi.h"

namespace hvd::transport {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFlavors[] = {"openmpi4", "openmpi5", "mpich"};

struct Module {
  Mutex mutex;
  const MpiEntry* entry ABSL_GUARDED_BY(mutex) = nullptr;
};

Module& module() {
  static auto* const instance = new Module;
  return *instance;
}

std::string file_of(const MpiFlavor& flavor) {
  return absl::StrCat("libhorovodpp_mpi_", flavor, ".so");
}

// The folder of this code: of the shared library, or of the program it is
// linked into.
fs::path own_folder() {
  std::error_code error;
  Dl_info info = {};
  fs::path file;
  if (::dladdr(reinterpret_cast<void*>(&load_mpi_module), &info) != 0 &&
      info.dli_fname != nullptr) {
    file = info.dli_fname;
  }
  // For a program, dladdr() gives the name it was called by.
  if (!file.is_absolute()) file = fs::read_symlink("/proc/self/exe", error);
  const fs::path real = fs::canonical(file, error);
  return (error ? file : real).parent_path();
}

absl::Status no_module(const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "horovodpp's module for MPI, by which these ranks were started, ", what));
}

constexpr char kWaysOut[] =
    "name its file in HOROVODPP_MPI_MODULE, or start the ranks of one host by "
    "horovodrun --no-mpi";

absl::StatusOr<const MpiEntry*> entry_of(void* handle,
                                         const std::string& file) {
  const auto function =
      reinterpret_cast<MpiEntryFunction*>(::dlsym(handle, kMpiEntry));
  if (function == nullptr) {
    return no_module(absl::StrCat("differs from ", file, "; ", kWaysOut));
  }
  const MpiEntry* const entry = function();
  if (std::strcmp(entry->version, version()) == 0) return entry;
  return no_module(absl::StrCat("in ", file, " is of version ", entry->version,
                                ", and the library of ", version(),
                                "; install both of one version"));
}

// RTLD_GLOBAL: plug-ins of Open MPI take its symbols from the global scope.
void* open_module(const std::string& file) {
  return ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

absl::StatusOr<const MpiEntry*> load_file(const std::string& file) {
  if (void* const handle = open_module(file)) return entry_of(handle, file);
  return no_module(absl::StrCat(
      "cannot be loaded: ", ::dlerror(),
      " (is the MPI installed that it was built with?); ", kWaysOut));
}

// Loads by the dynamic linker's search path, for programs with the library
// linked in. Returns nullptr if there is no such file.
absl::StatusOr<const MpiEntry*> load_by_name(const std::string& name) {
  if (void* const handle = open_module(name)) return entry_of(handle, name);
  const std::string error = ::dlerror();
  if (absl::StartsWith(error, absl::StrCat(name, ": cannot open"))) {
    return nullptr;
  }
  return no_module(absl::StrCat(
      "cannot be loaded: ", error,
      " (is the MPI installed that it was built with?); ", kWaysOut));
}

// The module files of `flavors` in `folder`.
std::vector<std::string> files_in(const fs::path& folder,
                                  const std::vector<MpiFlavor>& flavors) {
  std::vector<std::string> files;
  for (const MpiFlavor& flavor : flavors) {
    std::error_code error;
    const fs::path file = folder / file_of(flavor);
    if (fs::exists(file, error)) files.push_back(file.string());
  }
  return files;
}

absl::StatusOr<const MpiEntry*> load(const MpiModuleChoice& choice) {
  if (!choice.file.empty()) return load_file(choice.file);
  MpiFlavor flavor = LoadedMpi::find().flavor();
  if (flavor.empty()) flavor = choice.launcher;
  std::vector<MpiFlavor> flavors(std::begin(kFlavors), std::end(kFlavors));
  if (!flavor.empty()) flavors = {flavor};

  const fs::path folder = own_folder();
  const std::vector<std::string> files = files_in(folder, flavors);
  if (files.size() == 1) return load_file(files.front());
  if (files.size() > 1) {
    return no_module(
        absl::StrCat("may be any of ", absl::StrJoin(files, ", "),
                     ", and nothing tells which MPI started these ranks; name "
                     "one of them in HOROVODPP_MPI_MODULE"));
  }
  for (const MpiFlavor& one : flavors) {
    HVD_ASSIGN_OR_RETURN(const MpiEntry* entry, load_by_name(file_of(one)));
    if (entry != nullptr) return entry;
  }
  const std::string looked_for =
      absl::StrJoin(flavors, ", ", [](std::string* out, const MpiFlavor& one) {
        absl::StrAppend(out, file_of(one));
      });
  return no_module(absl::StrCat("was not found: looked for ", looked_for,
                                " in ", folder.string(),
                                " and where the system looks for libraries; "
                                "build it with -DHVD_WITH_MPI=ON, ",
                                kWaysOut));
}

absl::StatusOr<const MpiEntry*> loaded(const MpiModuleChoice& choice) {
  MutexLock lock(module().mutex);
  if (module().entry == nullptr) {
    HVD_ASSIGN_OR_RETURN(module().entry, load(choice));
  }
  return module().entry;
}

}  // namespace

absl::Status load_mpi_module(const MpiModuleChoice& choice) {
  return loaded(choice).status();
}

std::string loaded_mpi_module() {
  const MpiEntry* entry = nullptr;
  {
    MutexLock lock(module().mutex);
    entry = module().entry;
  }
  Dl_info info = {};
  if (entry == nullptr || ::dladdr(entry, &info) == 0) return "";
  return info.dli_fname;
}

bool mpi_is_running() {
  {
    MutexLock lock(module().mutex);
    if (module().entry != nullptr) return module().entry->is_running();
  }
  return LoadedMpi::find().is_running();
}

absl::StatusOr<std::unique_ptr<Communicator>> make_mpi_communicator(
    const MpiOptions& options, const MpiModuleChoice& choice) {
  HVD_ASSIGN_OR_RETURN(const MpiEntry* entry, loaded(choice));
  return entry->make_communicator(options);
}

}  // namespace hvd::transport
