// SPDX-License-Identifier: Apache-2.0
// A DistributedSampler says which items of a data set a rank reads, in which
// order, and how far it has come.
//
//   DistributedSampler sampler(
//       dataset.size(), {.num_replicas = hvd::size(), .rank = hvd::rank()});
//   for (int epoch = 0; epoch < epochs; ++epoch) {
//     sampler.set_epoch(epoch);
//     for (const Batch& batch : loader.iterate()) …
//   }
//
// Every rank gets as many items, as in PyTorch: if they do not divide evenly,
// some are read twice, or the last ones by nobody (drop_last). With num_replicas = 1
// it serves one process. Not thread-safe.
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
  //   InvalidArgument  there are no items, or not one for each replica with
  //                    drop_last; or the rank is none of the replicas
  explicit DistributedSampler(std::int64_t dataset_size,
                              const SamplerOptions& options = {});

  // Items of a rank in an epoch.
  std::int64_t num_samples() const { return num_samples_; }

  // Those that are left of this epoch, in order: all of this rank's, but for
  // the first `position`. The whole order is the permutation of the epoch,
  // filled up from its beginning or cut; rank r has every num_replicas-th item
  // of it, from r on.
  std::vector<std::int64_t> indices() const;

  // Chooses the order. A new epoch is read from its beginning; one that is the
  // current one goes on where it is.
  void set_epoch(std::int64_t epoch);
  std::int64_t epoch() const { return epoch_; }

  // Items of this epoch that were read. DataLoaders set it.
  //   InvalidArgument  not in [0, num_samples()]
  void set_position(std::int64_t position);
  std::int64_t position() const { return position_; }

  // Where to go on: int64 {epoch, position, seed, items of the data set,
  // replicas}. At the end of an epoch that is the beginning of the next.
  Tensor state() const;
  //   InvalidArgument  it is none of this sampler: not of this form, of another
  //                    seed, data set or number of replicas, which all change
  //                    what a position means, or beyond its items
  void load_state(const Tensor& state);

  const SamplerOptions& options() const { return options_; }

 private:
  const std::int64_t dataset_size_;
  const SamplerOptions options_;
  std::int64_t num_samples_ = 0;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

}  // namespace data
}  // namespace hvd
