// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/job_parts.h"

#include <utility>

#include "horovodpp/core/thread/threads.h"
#include "horovodpp/core/thread/without_exceptions.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {
namespace {

replica::ReducerOptions reducer_options(
    const Runtime& job, const std::vector<nn::NamedTensor>& parameters,
    const DistributedOptions& options, const ParameterShards* shards) {
  return {
      .op = options.op,
      .gradient_predivide_factor = options.gradient_predivide_factor,
      .scale =
          options.average_passes ? 1.0 / options.backward_passes_per_step : 1.0,
      .groups = options.groups.names_in(parameters),
      .bucket_bytes = options.bucket_bytes.value_or(
          replica::best_bucket_bytes(job, get_num_threads())),
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
