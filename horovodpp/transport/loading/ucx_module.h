// SPDX-License-Identifier: Apache-2.0
// Loads the UCX module, libhorovodpp_ucx.so: a shared library beside this one,
// which itself needs no UCX. It is loaded for ranks that met by TCP and are to
// move tensors by UCX, and then stays loaded. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/loading/ucx_entry.h"

namespace hvd::transport {

// A communicator whose transfers go by UCX, and all else by `wires`, which has
// not been used yet. All ranks call it; it exchanges their addresses. An error
// of one rank is returned by all.
//   FailedPrecondition  the module is missing (names the file), cannot be
//                       loaded, or is of another version; or UCX cannot run
//   InvalidArgument     a rank does not use UCX
//   (errors)            of Communicator::exchange()
absl::StatusOr<std::unique_ptr<Communicator>> make_ucx_communicator(
    std::unique_ptr<Communicator> wires, const UcxOptions& options);

}  // namespace hvd::transport
