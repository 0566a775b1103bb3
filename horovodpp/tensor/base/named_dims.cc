// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/named_dims.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::autograd {

std::array<bool, Dims::kMax> named_dims(const Dims& dims, std::size_t rank,
                                        const char* operation) {
  std::array<bool, Dims::kMax> result{};
  for (const std::int64_t dim : dims) {
    bool& named =
        result[checked_dim(dim, std::max<std::size_t>(rank, 1), operation)];
    if (named) {
      throw InvalidArgument(absl::StrCat(operation, ": dimension ", dim,
                                         " is named twice in ",
                                         dims.to_string()));
    }
    named = true;
  }
  return result;
}

}  // namespace hvd::autograd
