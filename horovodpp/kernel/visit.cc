// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/visit.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::autograd {

void throw_bad_dtype(DType dtype, const char* operation,
                     const char* supported) {
  throw InvalidArgument(absl::StrCat(operation, ": computes in ", supported,
                                     ", not in ", name_of(dtype),
                                     "; convert with to()"));
}

}  // namespace hvd::autograd
