// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/parameter_claim.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::optim {
namespace {

struct Registry {
  Mutex mutex;
  std::unordered_map<const void*, const ParameterClaim*> claims
      ABSL_GUARDED_BY(mutex);
};

// Never destroyed: optimizers may be global variables.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

}  // namespace

ParameterClaim::ParameterClaim(const std::vector<nn::NamedTensor>& parameters,
                               std::string name, Membership membership)
    : parameters_(parameters),
      name_(std::move(name)),
      membership_(std::move(membership)) {
  Registry& all = registry();
  MutexLock lock(all.mutex);
  for (const auto& [parameter, tensor] : parameters_) {
    const auto found = all.claims.find(tensor.impl());
    if (found == all.claims.end()) continue;
    const ParameterClaim& other = *found->second;
    if (!other.membership_.enter().ok()) continue;
    throw InvalidArgument(absl::StrCat(
        "the gradient of '", parameter,
        "' is reduced by another "
        "DistributedOptimizer, '",
        other.name_,
        "'; give each parameter to one of them, or let the other one go before "
        "'",
        name_, "' is made"));
  }
  for (const auto& [parameter, tensor] : parameters_) {
    all.claims[tensor.impl()] = this;
  }
}

ParameterClaim::~ParameterClaim() {
  Registry& all = registry();
  MutexLock lock(all.mutex);
  for (const auto& [parameter, tensor] : parameters_) {
    const auto found = all.claims.find(tensor.impl());
    if (found != all.claims.end() && found->second == this) {
      all.claims.erase(found);
    }
  }
}

}  // namespace hvd::optim
