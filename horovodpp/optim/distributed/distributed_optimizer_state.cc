// SPDX-License-Identifier: Apache-2.0
// Saving and loading the state of a DistributedOptimizer.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/distributed/job_parts.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

constexpr const char* kCompression = "compression.";

}  // namespace

nn::StateDict DistributedOptimizer::state_dict() const {
  if (job_->shards != nullptr) return sharded_state_dict();
  nn::StateDict state = wrapped().state_dict();
  if (compression() == nullptr) return state;
  for (const auto& [name, values] : compression()->state()) {
    state.push_back(
        {absl::StrCat(kCompression, name),
         from_vector(values, {static_cast<std::int64_t>(values.size())})});
  }
  return state;
}

void DistributedOptimizer::load_state_dict(const nn::StateDict& state,
                                           const nn::LoadOptions& options) {
  nn::StateDict rest;
  std::vector<compression::RememberedValues> remembered;
  for (const auto& [name, tensor] : state) {
    if (compression() == nullptr || !absl::StartsWith(name, kCompression)) {
      rest.push_back({name, tensor});
    } else {
      remembered.push_back({name.substr(std::string(kCompression).size()),
                            tensor.to_vector<float>()});
    }
  }
  wrapped().load_state_dict(rest, options);
  if (compression() != nullptr) compression()->load_state(remembered);
  lost_state_ = false;
  job_->reducer.discard();
  job_->handover->forget();
  is_synchronized_ = false;
  synchronized_by_caller_ = false;
}

nn::StateDict DistributedOptimizer::sharded_state_dict() const {
  nn::StateDict state = nn::with_prefix(
      kStatePrefix, job_->shards->whole_state(sharded(), job_->reducer));
  for (const nn::NamedTensor& entry : wrapped().state_dict()) {
    if (!absl::StartsWith(entry.name, kStatePrefix)) state.push_back(entry);
  }
  return state;
}

}  // namespace hvd::optim
