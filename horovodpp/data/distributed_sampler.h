// SPDX-License-Identifier: Apache-2.0
// A DistributedSampler decides which items of a data set a rank reads, and in
// which order, and tracks the rank's position.
//
//   DistributedSampler sampler(
//       dataset.size(), {.num_replicas = hvd::size(), .rank = hvd::rank()});
//   for (int epoch = 0; epoch < epochs; ++epoch) {
//     sampler.set_epoch(epoch);
//     for (const Batch& batch : loader.iterate()) …
//   }
//
// Every rank gets the same number of items, as in PyTorch. If they do not
// divide evenly, some items are read twice, or the last ones are skipped
// (drop_last). With num_replicas = 1 it serves one process. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

struct SamplerOptions {
  int num_replicas = 1;
  int rank = 0;
  bool shuffle = true;  // By seed and epoch, the same on all ranks.
  std::uint64_t seed = 0;
  bool drop_last = false;
};

class DistributedSampler {
 public:
  //   InvalidArgument  the data set is empty, or with drop_last smaller than
  //                    the number of replicas; or the rank is not a replica
  explicit DistributedSampler(std::int64_t dataset_size,
                              const SamplerOptions& options = {});

  // Items per rank and epoch, or per rank and rest of an epoch.
  std::int64_t num_samples() const { return num_samples_; }

  // The remaining items of this rank and epoch, in order, from `position` on.
  // The epoch's permutation is padded from its start, or cut. Rank r reads
  // every num_replicas-th item, starting with item r.
  std::vector<std::int64_t> indices() const;

  // Selects the order. A new epoch starts at position 0; the current epoch
  // keeps its position.
  void set_epoch(std::int64_t epoch);
  std::int64_t epoch() const { return epoch_; }

  // The number of items read in this epoch. DataLoaders set it.
  //   InvalidArgument  not in [0, num_samples()]
  void set_position(std::int64_t position);
  std::int64_t position() const { return position_; }

  // The position to resume from: int64 {epoch, position, seed, items of the
  // data set, replicas}. At the end of an epoch this is the start of the next.
  Tensor state() const;
  //   InvalidArgument  the state has another form, seed, data set or number of
  //                    replicas, or its position is out of range
  void load_state(const Tensor& state);

  const SamplerOptions& options() const { return options_; }

 protected:
  std::int64_t dataset_size() const { return dataset_size_; }
  // The numbers of a state, which has the form of `own`.
  //   InvalidArgument  it has another form
  static std::vector<std::int64_t> numbers_of(const Tensor& state,
                                              const Tensor& own);
  // The number of items that all replicas together have read in this epoch.
  std::int64_t items_read() const;
  // Distributes the items of the epoch from `begin` on among other replicas. At
  // the end of an epoch the next one begins.
  //   InvalidArgument  `begin` is not an item; or as the constructor
  void distribute(std::int64_t begin, int num_replicas, int rank);

 private:
  void count_samples();

  const std::int64_t dataset_size_;
  SamplerOptions options_;
  std::int64_t begin_ = 0;  // The first item that is distributed.
  std::int64_t num_samples_ = 0;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

}  // namespace data
}  // namespace hvd
