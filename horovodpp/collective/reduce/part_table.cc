// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/part_table.h"

#include <numeric>

namespace hvd::collective {

PartTable::PartTable(std::span<const std::int64_t> counts, int ranks)
    : ranks_(ranks), ends_(counts.size()) {
  std::partial_sum(counts.begin(), counts.end(), ends_.begin());
}

}  // namespace hvd::collective
