// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/mpi_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/loading/loaded_mpi.h"
#include "horovodpp/transport/loading/module_file.h"

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

// RTLD_GLOBAL: plug-ins of Open MPI take its symbols from the global scope.
const ModuleFile& module_file() {
  static const auto* const instance = new ModuleFile(
      kMpiEntry, RTLD_GLOBAL,
      {.subject = "horovodpp's module for MPI, by which these ranks were "
                  "started,",
       .cause = "is the MPI installed that it was built with?",
       .ways_out = "name its file in HOROVODPP_MPI_MODULE, or start the ranks "
                   "of one host by horovodrun --no-mpi"});
  return *instance;
}

absl::StatusOr<const void*> load_file(const std::string& file) {
  return module_file().load(file);
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

absl::StatusOr<const void*> load(const MpiModuleChoice& choice) {
  if (!choice.file.empty()) return load_file(choice.file);
  MpiFlavor flavor = LoadedMpi::find().flavor();
  if (flavor.empty()) flavor = choice.launcher;
  std::vector<MpiFlavor> flavors(std::begin(kFlavors), std::end(kFlavors));
  if (!flavor.empty()) flavors = {flavor};

  const fs::path folder = own_folder();
  const std::vector<std::string> files = files_in(folder, flavors);
  if (files.size() == 1) return load_file(files.front());
  if (files.size() > 1) {
    return module_file().failure(
        absl::StrCat("may be any of ", absl::StrJoin(files, ", "),
                     ", and nothing tells which MPI started these ranks; name "
                     "one of them in HOROVODPP_MPI_MODULE"));
  }
  for (const MpiFlavor& one : flavors) {
    HVD_ASSIGN_OR_RETURN(const void* entry,
                         module_file().load_by_name(file_of(one)));
    if (entry != nullptr) return entry;
  }
  const std::string looked_for =
      absl::StrJoin(flavors, ", ", [](std::string* out, const MpiFlavor& one) {
        absl::StrAppend(out, file_of(one));
      });
  return module_file().failure(absl::StrCat(
      "was not found: looked for ", looked_for, " in ", folder.string(),
      " and where the system looks for libraries; "
      "build it with -DHVD_WITH_MPI=ON, ",
      module_file().ways_out()));
}

absl::StatusOr<const MpiEntry*> loaded(const MpiModuleChoice& choice) {
  MutexLock lock(module().mutex);
  if (module().entry == nullptr) {
    HVD_ASSIGN_OR_RETURN(const void* entry, load(choice));
    module().entry = static_cast<const MpiEntry*>(entry);
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
