// SPDX-License-Identifier: Apache-2.0
// The MPI that a program has brought itself, asked without being linked.
#pragma once

#include <string>

namespace hvd::transport {

// Which module goes with an MPI that says so of itself (MPI_Get_library_version):
// "Open MPI v4.1.4, package: …" is "openmpi4"; "" if it is not known.
std::string mpi_flavor_of(const std::string& library_version);

class LoadedMpi {
 public:
  // What this process has loaded by now, in whatever way.
  static LoadedMpi find();

  // Initialized, and not finalized; false where there is none.
  bool is_running() const;
  // The first line of its MPI_Get_library_version; "" where there is none.
  std::string version() const;
  // "" where there is none.
  std::string flavor() const { return mpi_flavor_of(version()); }

 private:
  using Flag = int(int*);
  using Text = int(char*, int*);
  Flag* initialized_ = nullptr;
  Flag* finalized_ = nullptr;
  Text* library_version_ = nullptr;
};

}  // namespace hvd::transport
