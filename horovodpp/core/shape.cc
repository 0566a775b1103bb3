#include "horovodpp/core/shape.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd {

std::int64_t Shape::num_elements() const {
  std::uint64_t product = 1;  // Unsigned: wraps instead of being undefined.
  for (std::int64_t dim : dims_) product *= static_cast<std::uint64_t>(dim);
  return static_cast<std::int64_t>(product);
}

absl::Status Shape::checked(std::size_t element_bytes) const {
  bool empty = false;
  for (std::int64_t dim : dims_) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", to_string(), " has a negative dimension"));
    }
    empty = empty || dim == 0;
  }
  if (empty) return absl::OkStatus();
  std::int64_t room =
      std::numeric_limits<std::int64_t>::max() /
      static_cast<std::int64_t>(element_bytes == 0 ? 1 : element_bytes);
  for (std::int64_t dim : dims_) room /= dim;
  if (room == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", to_string(), " has more than 2^63 bytes"));
  }
  return absl::OkStatus();
}

Shape Shape::tail() const {
  if (dims_.empty()) return Shape();
  return Shape(std::vector<std::int64_t>(dims_.begin() + 1, dims_.end()));
}

std::string Shape::to_string() const {
  return absl::StrCat("[", absl::StrJoin(dims_, ","), "]");
}

}  // namespace hvd
