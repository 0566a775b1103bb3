// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/elastic_sampler.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::elastic {

ElasticSampler::ElasticSampler(std::int64_t dataset_size,
                               const ElasticSamplerOptions& options)
    : DistributedSampler(dataset_size, {.num_replicas = size(),
                                        .rank = rank(),
                                        .shuffle = options.shuffle,
                                        .seed = options.seed}) {}

void ElasticSampler::reset() { distribute(items_read(), size(), rank()); }

Tensor ElasticSampler::state() const {
  return from_vector<std::int64_t>(
      {epoch(), items_read(), static_cast<std::int64_t>(options().seed),
       dataset_size()},
      {4});
}

void ElasticSampler::load_state(const Tensor& state) {
  const Tensor own = this->state();
  const auto theirs = numbers_of(state, own);
  const auto mine = own.to_vector<std::int64_t>();
  if (theirs[2] != mine[2] || theirs[3] != mine[3]) {
    throw InvalidArgument(
        absl::StrCat("the state of an elastic sampler has seed ", theirs[2],
                     " and ", theirs[3], " items; this one has seed ", mine[2],
                     " and ", mine[3], " items"));
  }
  set_epoch(theirs[0]);
  distribute(theirs[1], size(), rank());
}

}  // namespace hvd::elastic
