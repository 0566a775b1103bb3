// SPDX-License-Identifier: Apache-2.0
// The interface between the library and its UCX module. Both are built together
// and share these types, but no function.
#pragma once

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

struct UcxOptions {
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
};

struct UcxEntry {
  // Version of horovodpp; see ModuleFile.
  const char* version = nullptr;
  // See make_ucx_communicator() in ucx_module.h.
  absl::StatusOr<std::unique_ptr<Communicator>> (*make_communicator)(
      std::unique_ptr<Communicator> wires, const UcxOptions& options) = nullptr;
};

// Name of the function that returns the UcxEntry; see ModuleFile::Function.
inline constexpr char kUcxEntry[] = "hvd_ucx_entry";

}  // namespace hvd::transport
