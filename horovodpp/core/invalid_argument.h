// What is thrown for an argument that no call of this kind accepts: a wrong shape,
// dtype, index …
//
// It is a std::invalid_argument and no hvd::Error: a class that were both would
// be caught by neither `catch (const std::exception&)`, since it would be one
// twice.
#pragma once

#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "horovodpp/core/printable.h"

namespace hvd {

class InvalidArgument : public std::invalid_argument {
 public:
  explicit InvalidArgument(const std::string& message)
      : std::invalid_argument(printable(message)) {}
  absl::Status status() const { return absl::InvalidArgumentError(what()); }
};

}  // namespace hvd
