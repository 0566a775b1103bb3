// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/shape.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd {

Shape::Shape(IntSpan dims) : rank_(dims.size()) {
  if (rank_ <= kFew) {
    std::copy(dims.begin(), dims.end(), few_.begin());
  } else {
    many_.assign(dims.begin(), dims.end());
  }
}

bool operator==(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dims(), b.dims());
}

std::int64_t Shape::num_elements() const {
  std::uint64_t product = 1;  // Unsigned: wraps instead of undefined behavior.
  for (const std::int64_t dim : dims())
    product *= static_cast<std::uint64_t>(dim);
  return static_cast<std::int64_t>(product);
}

Status Shape::checked(std::size_t element_bytes) const {
  bool empty = false;
  for (const std::int64_t dim : dims()) {
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
  for (const std::int64_t dim : dims()) room /= dim;
  if (room == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", to_string(), " has more than 2^63 bytes"));
  }
  return absl::OkStatus();
}

Shape Shape::tail() const {
  if (rank() == 0) return Shape();
  return Shape(dims().subspan(1));
}

std::string Shape::to_string() const {
  return absl::StrCat("[", absl::StrJoin(dims(), ","), "]");
}

}  // namespace hvd
