// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/shard_tree.h"

#include <cstdint>
#include <utility>

namespace hvd::replica {

ShardRange shards_of_rank(int shards, int rank, int ranks) {
  const auto border = [&](int at) {
    return static_cast<int>(std::int64_t{at} * shards / ranks);
  };
  return {border(rank), border(rank + 1)};
}

std::vector<ShardNode> nodes_of_range(int shards, const ShardRange& range) {
  struct Nothing {};
  const auto add = [](Nothing&, const Nothing&) {};
  ShardStack<Nothing, decltype(add)> stack(shards, add);
  for (int shard = range.begin; shard < range.end; ++shard) {
    stack.push({0, shard}, {});
  }
  std::vector<ShardNode> nodes;
  for (const auto& entry : stack.entries()) nodes.push_back(entry.node);
  return nodes;
}

}  // namespace hvd::replica
