// SPDX-License-Identifier: Apache-2.0
// A DataLoader reads a data set in the order of a sampler, in batches. Worker
// threads fetch and collate batches ahead of use.
//
//   DataLoader loader(dataset, sampler, {.batch_size = 64, .workers = 2});
//   for (const Batch& batch : loader.iterate()) {
//     train(batch[0], batch[1]);
//   }
//
// Batches come in order for any number of workers. The random numbers that a
// data set draws depend only on the loader's seed, the epoch, the rank and the
// batch's index; those of item_generator() (item_random.h) on the loader's
// seed, the epoch and the item. Each returned batch advances the sampler's position, so a
// saved sampler state resumes with the next batch.
//
// Data set and sampler outlive the loader and its passes. The loader is not
// thread-safe; all workers call the data set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/data/dataset.h"
#include "horovodpp/data/distributed_sampler.h"

namespace HVD_EXPORT hvd {
namespace data {

struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  int workers = 2;         // Threads; 0: batches are made on demand.
  int prefetch = 2;        // Batches that each worker may be ahead.
  bool drop_last = false;  // Drops an incomplete last batch.
  std::uint64_t seed = 0;  // For random numbers of the data set.
};

// The rest of one epoch. Its threads end with it, at any point.
class LoaderPass {
 public:
  ~LoaderPass();
  LoaderPass(const LoaderPass&) = delete;
  LoaderPass& operator=(const LoaderPass&) = delete;

  // The next batch; nullopt at the end of the epoch.
  //   hvd::Error, InvalidArgument  the data set's exception, in place of its
  //                                batch and again in later calls; an Error
  //                                names the item
  std::optional<Batch> next();

  // For one range-based loop.
  class Iterator {
   public:
    explicit Iterator(LoaderPass& pass) : pass_(pass), batch_(pass.next()) {}
    const Batch& operator*() const { return *batch_; }
    void operator++() { batch_ = pass_.next(); }
    bool operator!=(std::nullopt_t) const { return batch_.has_value(); }

   private:
    LoaderPass& pass_;
    std::optional<Batch> batch_;
  };
  Iterator begin() { return Iterator(*this); }
  std::nullopt_t end() const { return std::nullopt; }

 private:
  friend class DataLoader;
  class Plan;
  class Workers;

  LoaderPass(const Dataset& dataset, DistributedSampler& sampler,
             const DataLoaderOptions& options);

  DistributedSampler& sampler_;
  const std::unique_ptr<const Plan> plan_;
  std::int64_t delivered_ = 0;
  std::unique_ptr<Workers> workers_;  // Null without workers.
};

class DataLoader {
 public:
  //   InvalidArgument  the batch size is not positive, another option is
  //                    negative, or prefetch is 0 with workers
  DataLoader(const Dataset& dataset, DistributedSampler& sampler,
             const DataLoaderOptions& options = {});

  // Batches per epoch on this rank.
  std::int64_t num_batches() const;

  // A pass from the sampler's position to the end of its epoch; restarts the
  // epoch if the position is at the end. One pass at a time.
  LoaderPass iterate();

 private:
  const Dataset& dataset_;
  DistributedSampler& sampler_;
  const DataLoaderOptions options_;
};

}  // namespace data
}  // namespace hvd
