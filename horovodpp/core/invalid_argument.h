// SPDX-License-Identifier: Apache-2.0
// InvalidArgument is the exception for an argument that a call never accepts: a
// wrong shape, dtype, index …
#pragma once

#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& message)
      : Error(Status(StatusCode::kInvalidArgument, message)) {}
};

}  // namespace hvd
