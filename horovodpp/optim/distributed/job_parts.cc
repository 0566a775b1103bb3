// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/job_parts.h"

#include <cstddef>
#include <utility>

#include "horovodpp/core/thread/threads.h"
#include "horovodpp/core/thread/without_exceptions.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {
namespace {

// Reducing a gradient as soon as it is complete overlaps with backward if the
// reduction has a free core. If all cores compute, each reduction interrupts
// the computation.
std::size_t bucket_bytes_of(const Runtime& job,
                            const DistributedOptions& options) {
  constexpr std::size_t kBucketBytes = std::size_t{16} << 20;
  if (options.bucket_bytes) return *options.bucket_bytes;
  const Topology& topology = job.topology();
  const int ranks = topology.local_size();
  const bool hides_nothing =
      ranks == topology.size() && !have_spare_cores(ranks, get_num_threads());
  return hides_nothing ? kBucketBytes : 0;
}

replica::ReducerOptions reducer_options(
    const Runtime& job, const std::vector<nn::NamedTensor>& parameters,
    const DistributedOptions& options, const ParameterShards* shards) {
  return {
      .op = options.op,
      .gradient_predivide_factor = options.gradient_predivide_factor,
      .scale =
          options.average_passes ? 1.0 / options.backward_passes_per_step : 1.0,
      .groups = options.groups.names_in(parameters),
      .bucket_bytes = bucket_bytes_of(job, options),
      .scattered = shards == nullptr ? std::vector<replica::ScatteredGroup>()
                                     : shards->groups(),
      .compressor = options.compression,
      .observer = options.observer,
      .name = options.name,
      .process_set = options.process_set};
}

}  // namespace

JobParts::JobParts(Runtime& job, const std::vector<nn::NamedTensor>& parameters,
                   const DistributedOptions& options,
                   std::unique_ptr<ParameterShards> parameter_shards,
                   const ContributionEvents& events,
                   const ContributionOptions& contribution_options)
    : shards(std::move(parameter_shards)),
      reducer(job, reducer_options(job, parameters, options, shards.get())),
      contributions(std::make_unique<Contributions>(parameters, reducer, events,
                                                    contribution_options)),
      handover(std::make_unique<Handover>(parameters, reducer, *contributions,
                                          shards.get(),
                                          options.sparse_as_dense)) {}

JobParts::~JobParts() {
  contributions.reset();
  // The reducer borrows the gradients' memory until discard(). The next call
  // that needs the job reports the job's errors.
  without_exceptions([&] { reducer.discard(); });
  without_exceptions([&] {
    if (shards != nullptr) shards->wait_for_all();
  });
}

}  // namespace hvd::optim
