// SPDX-License-Identifier: Apache-2.0
// The binary tree in which the values of virtual shards are added. Its shape
// depends on the number of shards alone, so the bits of the sum do not depend
// on how many ranks carry the shards.
//
// The node {level, index} covers the shards from index * 2^level to
// (index + 1) * 2^level, without those beyond the last. Its value is that of
// its left child plus that of its right child; without a right child it is that
// of the left one.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace replica {

struct ShardNode {
  int level = 0;
  int index = 0;

  int begin() const { return index << level; }
  int end() const { return (index + 1) << level; }
  friend bool operator==(const ShardNode&, const ShardNode&) = default;
};

// A range of shards, [begin, end).
struct ShardRange {
  int begin = 0;
  int end = 0;
};

// The shards that rank `rank` of `ranks` carries.
ShardRange shards_of_rank(int shards, int rank, int ranks);

// The largest nodes of which a range holds all shards, from left to right.
std::vector<ShardNode> nodes_of_range(int shards, const ShardRange& range);

// A sum that takes nodes from left to right. `Value` is movable, and
// `add(left, right)` adds the right value to the left one.
template <typename Value, typename Add>
class ShardStack {
 public:
  ShardStack(int shards, Add add) : shards_(shards), add_(std::move(add)) {}

  // The node that follows those pushed before.
  void push(ShardNode node, Value value) {
    entries_.push_back({node, std::move(value)});
    while (merge_last() || rise_last()) {
    }
  }
  // The first shard that was not pushed; `begin` if there are none.
  int next(int begin) const {
    if (entries_.empty()) return begin;
    const int end = entries_.back().node.end();
    return end < shards_ ? end : shards_;
  }

  struct Entry {
    ShardNode node;
    Value value;
  };
  std::vector<Entry>& entries() { return entries_; }

 private:
  bool merge_last() {
    if (entries_.size() < 2) return false;
    Entry& right = entries_.back();
    Entry& left = entries_[entries_.size() - 2];
    const bool are_siblings = left.node.level == right.node.level &&
                              left.node.index + 1 == right.node.index &&
                              left.node.index % 2 == 0;
    if (!are_siblings) return false;
    add_(left.value, right.value);
    left.node = {left.node.level + 1, left.node.index / 2};
    entries_.pop_back();
    return true;
  }
  // Without a right sibling, the parent has the same value.
  bool rise_last() {
    ShardNode& node = entries_.back().node;
    const bool is_root = node.begin() == 0 && node.end() >= shards_;
    if (is_root || node.index % 2 != 0 || node.end() < shards_) return false;
    node = {node.level + 1, node.index / 2};
    return true;
  }

  const int shards_;
  const Add add_;
  std::vector<Entry> entries_;
};

}  // namespace replica
}  // namespace hvd
