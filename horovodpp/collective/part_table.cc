#include "horovodpp/collective/part_table.h"

#include <numeric>

namespace hvd::collective {

PartTable::PartTable(std::span<const std::int64_t> counts, int ranks)
    : ranks_(ranks), ends_(counts.size()) {
  std::partial_sum(counts.begin(), counts.end(), ends_.begin());
}

bool PartTable::leaves_out_a_rank() const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::vector<bool> gets(ranks);
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (ends_[i] > (i == 0 ? 0 : ends_[i - 1])) gets[i % ranks] = true;
  }
  return std::find(gets.begin(), gets.end(), false) != gets.end();
}

}  // namespace hvd::collective
