// SPDX-License-Identifier: Apache-2.0
// The identity of a reduction: the contribution of a rank without a tensor,
// which does not change the others' result.
//
//   HVD_RETURN_IF_ERROR(check_identity(reduction));
//   fill_identity(reduction, absent.data(), count);
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

// OK if there is such a value. Depends on the reduction alone, so all ranks get
// the same answer.
//   InvalidArgument  there is none: the prescale, which also applies to it,
//                    leaves no value neutral. So for most products with a
//                    prescale, and for floating-point sums with a non-finite
//                    prescale
absl::Status check_identity(const Reduction& reduction);

// Writes that value `count` times (if there is none: the identity without a
// prescale). `reduction` has passed check(); `data` is aligned to its dtype.
void fill_identity(const Reduction& reduction, void* data, std::int64_t count);

}  // namespace hvd::collective
