// What a rank contributes that has nothing to say: the value that leaves the
// others' reduction as it is.
//
//   HVD_RETURN_IF_ERROR(check_identity(reduction));
//   fill_identity(reduction, absent.data(), count);
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

// OK if there is such a value. It depends on the reduction alone, so all ranks
// answer alike.
//   InvalidArgument  none that the prescale, which is applied to it as to all
//                    others, leaves neutral: of most products with a prescale,
//                    of floating-point sums with one that is not finite
absl::Status check_identity(const Reduction& reduction);

// Writes that value `count` times (where there is none: what would do without a
// prescale). `reduction` has passed check(); `data` is aligned to its dtype.
void fill_identity(const Reduction& reduction, void* data, std::int64_t count);

}  // namespace hvd::collective
