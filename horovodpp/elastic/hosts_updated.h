// SPDX-License-Identifier: Apache-2.0
// The exception that ends a training loop because newcomers wait, on all ranks
// at the same boundary. Let it pass to run().
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace elastic {

class HostsUpdatedInterrupt : public Error {
 public:
  HostsUpdatedInterrupt();
};

}  // namespace elastic
}  // namespace hvd
