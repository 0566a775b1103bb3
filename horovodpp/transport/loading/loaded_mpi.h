// SPDX-License-Identifier: Apache-2.0
// LoadedMpi calls the MPI that the program itself has loaded, without linking
// it.
#pragma once

#include <string>

namespace hvd::transport {

// The module flavor for the text of MPI_Get_library_version: "Open MPI v4.1.4,
// package: …" is "openmpi4"; "" if unknown.
std::string mpi_flavor_of(const std::string& library_version);

class LoadedMpi {
 public:
  // The MPI that this process has loaded by now, in any way.
  static LoadedMpi find();

  // Whether MPI is initialized and not finalized; false without MPI.
  bool is_running() const;
  // The first line of its MPI_Get_library_version; "" without MPI.
  std::string version() const;
  // "" without MPI.
  std::string flavor() const { return mpi_flavor_of(version()); }

 private:
  using Flag = int(int*);
  using Text = int(char*, int*);
  Flag* initialized_ = nullptr;
  Flag* finalized_ = nullptr;
  Text* library_version_ = nullptr;
};

}  // namespace hvd::transport
