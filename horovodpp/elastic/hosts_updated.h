// SPDX-License-Identifier: Apache-2.0
// The exception that ends a training loop because newcomers wait. It is no
// error.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <exception>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace elastic {

class HostsUpdatedInterrupt : public std::exception {
 public:
  const char* what() const noexcept override;
};

}  // namespace elastic
}  // namespace hvd
