// SPDX-License-Identifier: Apache-2.0
// A ShardSum is the mean over virtual shards: the global batch is cut into a
// fixed number of shards, which the ranks share. The bits of the mean are the
// same for any number of ranks, since shards are added in one fixed tree
// (shard_tree.h).
//
//   ShardSum sum(job, {.shards = 8});
//   for (int shard = sum.owned().begin; shard < sum.owned().end; ++shard) {
//     ...                                  // The gradients of this shard.
//     HVD_RETURN_IF_ERROR(sum.add(shard, gradients));
//   }
//   HVD_RETURN_IF_ERROR(sum.finish(gradients));      // Now the means.
//
// f16 and bf16 are added, and travel, as f32. A rank with s shards holds at most
// 2 * log2(s) + 1 copies of the tensors; with a power of two of equally many
// shards on each rank it is one, and log2(s) while they are added.
//
// Belongs to one job: after reform() or grow(), make another one. Not
// thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/shard_tree.h"

namespace HVD_EXPORT hvd {

class Runtime;

namespace replica {

class ShardSum {
 public:
  struct Options {
    int shards = 1;                  // At least as many as ranks.
    std::string name = "shard_sum";  // Of its collectives.
  };

  // `job` outlives this object.
  ShardSum(Runtime& job, const Options& options);
  ~ShardSum();

  // The shards of this rank; empty if there are fewer shards than ranks.
  const ShardRange& owned() const { return owned_; }

  // Adds the tensors of a shard, which are copied. Shards of this rank come in
  // order, each with tensors of the same sizes.
  //   InvalidArgument  another shard is due; the tensors do not fit; their
  //                    dtype is not f16, bf16, f32 or f64; or they are not in
  //                    the host's memory
  Status add(int shard, const std::vector<ConstTensorView>& tensors);

  // Writes the means over all shards to `results`, and begins anew. All ranks
  // call it. Blocks.
  //   InvalidArgument     `results` do not fit the tensors
  //   FailedPrecondition  shards of this rank are missing
  //   (errors)            of the job's collectives
  Status finish(const std::vector<TensorView>& results);

  // Drops what was added.
  void clear();

 private:
  class Sums;
  const std::unique_ptr<Sums> sums_;
  const ShardRange owned_;
};

}  // namespace replica
}  // namespace hvd
