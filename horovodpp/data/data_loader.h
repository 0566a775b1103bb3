// SPDX-License-Identifier: Apache-2.0
// A DataLoader reads a data set in the order of a sampler, batch by batch,
// ahead of the program that uses them: worker threads fetch and collate.
//
//   DataLoader loader(dataset, sampler, {.batch_size = 64, .workers = 2});
//   for (const Batch& batch : loader.iterate()) {
//     train(batch[0], batch[1]);
//   }
//
// Batches come in order whatever the number of workers, and so do the random
// numbers that a data set draws for them: they depend on the loader's seed, the
// epoch, the rank and the place of the batch in the epoch. As each batch is
// handed out, the sampler's position moves behind it, so that a state of the
// sampler saved then resumes with the next one.
//
// Data set and sampler outlive the loader and its passes. The loader is not
// thread-safe; a data set is called from all workers.
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
  int workers = 2;   // Threads; 0: batches are made when they are asked for.
  int prefetch = 2;  // Batches that each worker may be ahead.
  bool drop_last = false;  // A last batch that is smaller.
  std::uint64_t seed = 0;  // Of the random numbers that the data set draws.
};

// What is left of one epoch. Its threads end with it, at whatever point.
class LoaderPass {
 public:
  ~LoaderPass();
  LoaderPass(const LoaderPass&) = delete;
  LoaderPass& operator=(const LoaderPass&) = delete;

  // The next batch; nullopt at the end of the epoch.
  //   hvd::Error, InvalidArgument  what the data set threw, in the place of its
  //                                batch, and again in later calls; an Error
  //                                names the item
  std::optional<Batch> next();

  // For a range-based loop, once.
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
  std::unique_ptr<Workers> workers_;  // Null: there are none.
};

class DataLoader {
 public:
  //   InvalidArgument  the batch size is not positive, or another option is
  //                    negative, or workers may not be ahead at all
  DataLoader(const Dataset& dataset, DistributedSampler& sampler,
             const DataLoaderOptions& options = {});

  // Batches of a whole epoch, on this rank.
  std::int64_t num_batches() const;

  // A pass from the sampler's position to the end of its epoch; from the
  // beginning again, if it is at the end. One at a time.
  LoaderPass iterate();

 private:
  const Dataset& dataset_;
  DistributedSampler& sampler_;
  const DataLoaderOptions options_;
};

}  // namespace data
}  // namespace hvd
