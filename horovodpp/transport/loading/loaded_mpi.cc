// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/loaded_mpi.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cctype>
#include <cstddef>

#include "absl/strings/match.h"

namespace hvd::transport {
namespace {

// More than any MPI's MPI_MAX_LIBRARY_VERSION_STRING.
constexpr std::size_t kLongestVersion = 16384;

// Sets the std::string at `found` to the file of a loaded MPI library.
int note_mpi(dl_phdr_info* object, std::size_t, void* found) {
  const std::string path(object->dlpi_name);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!absl::StartsWith(name, "libmpi.so") &&
      !absl::StartsWith(name, "libmpich.so")) {
    return 0;
  }
  *static_cast<std::string*>(found) = path;
  return 1;
}

// Scope to look MPI functions up in: the program's global names, or a library
// loaded locally, as Python loads extensions.
void* scope_of_mpi() {
  if (::dlsym(RTLD_DEFAULT, "MPI_Initialized") != nullptr) return RTLD_DEFAULT;
  std::string path;
  if (::dl_iterate_phdr(note_mpi, &path) == 0) return nullptr;
  return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

bool is_flag_set(int (*call)(int*)) {
  int flag = 0;
  return call != nullptr && call(&flag) == 0 && flag != 0;
}

}  // namespace

std::string mpi_flavor_of(const std::string& library_version) {
  constexpr char kOpenMpi[] = "Open MPI v";
  const std::size_t at = library_version.find(kOpenMpi);
  if (at != std::string::npos) {
    std::string flavor = "openmpi";
    for (std::size_t i = at + sizeof(kOpenMpi) - 1;
         i < library_version.size() &&
         std::isdigit(static_cast<unsigned char>(library_version[i])) != 0;
         ++i) {
      flavor += library_version[i];
    }
    return flavor;
  }
  for (const char* one : {"MPICH", "Intel(R) MPI", "MVAPICH"}) {
    if (absl::StrContains(library_version, one)) return "mpich";
  }
  return "";
}

LoadedMpi LoadedMpi::find() {
  LoadedMpi mpi;
  void* const scope = scope_of_mpi();
  // A null scope also stands for RTLD_DEFAULT, and then the lookup succeeds.
  mpi.initialized_ = reinterpret_cast<Flag*>(::dlsym(scope, "MPI_Initialized"));
  mpi.finalized_ = reinterpret_cast<Flag*>(::dlsym(scope, "MPI_Finalized"));
  mpi.library_version_ =
      reinterpret_cast<Text*>(::dlsym(scope, "MPI_Get_library_version"));
  return mpi;
}

bool LoadedMpi::is_running() const {
  return is_flag_set(initialized_) && !is_flag_set(finalized_);
}

std::string LoadedMpi::version() const {
  if (library_version_ == nullptr) return "";
  std::array<char, kLongestVersion> text = {};
  int length = 0;
  if (library_version_(text.data(), &length) != 0) return "";
  const std::string whole(text.data());
  return whole.substr(0, whole.find('\n'));
}

}  // namespace hvd::transport
