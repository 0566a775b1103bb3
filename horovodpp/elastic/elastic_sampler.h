// SPDX-License-Identifier: Apache-2.0
// An ElasticSampler distributes the items of a data set among ranks whose
// number may change within an epoch: the rest of the epoch is then distributed
// anew.
//
//   hvd::elastic::ElasticSampler sampler(dataset.size());
//   state.keep("sampler", sampler);
//   state.register_reset_callback([&] { sampler.reset(); });
//   hvd::data::DataLoader loader(dataset, sampler, {.batch_size = 32});
//
// Needs a job. Not thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/data/distributed_sampler.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace elastic {

struct ElasticSamplerOptions {
  bool shuffle = true;  // By seed and epoch, the same on all ranks.
  std::uint64_t seed = 0;
};

class ElasticSampler : public data::DistributedSampler {
 public:
  //   InvalidArgument                  the data set is empty
  //   hvd::Error (FailedPrecondition)  there is no job
  explicit ElasticSampler(std::int64_t dataset_size,
                          const ElasticSamplerOptions& options = {});

  // Distributes the items that no rank has read among the present ranks.
  void reset();

  // The position to resume from with any number of ranks: int64 {epoch, items
  // read, seed, items of the data set}.
  Tensor state() const;
  // Goes on there, with the present ranks.
  //   InvalidArgument  the state has another form, seed or data set, or its
  //                    position is out of range
  void load_state(const Tensor& state);
};

}  // namespace elastic
}  // namespace hvd
