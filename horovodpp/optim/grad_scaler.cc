// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/grad_scaler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/optim/gradients.h"

namespace hvd::optim {
namespace {

// The entry of this name.
//   InvalidArgument  there is none
const nn::NamedTensor& entry_of(const nn::StateDict& state,
                                const std::string& name,
                                const nn::LoadOptions& options) {
  const auto found =
      std::find_if(state.begin(), state.end(),
                   [&](const auto& entry) { return entry.name == name; });
  if (found == state.end()) {
    throw InvalidArgument(
        absl::StrCat(options.source, " of a GradScaler lacks '", name, "'"));
  }
  return *found;
}

}  // namespace

void GradScalerOptions::check() const {
  // Written so that NaN fails too.
  const bool valid = init_scale > 0 && std::isfinite(init_scale) &&
                     growth_factor > 1 && std::isfinite(growth_factor) &&
                     backoff_factor > 0 && backoff_factor < 1 &&
                     growth_interval >= 1;
  if (valid) return;
  throw InvalidArgument(absl::StrCat("GradScaler: init_scale ", init_scale,
                                     " must be positive, growth_factor ",
                                     growth_factor, " above 1, backoff_factor ",
                                     backoff_factor,
                                     " between 0 and 1, and growth_interval ",
                                     growth_interval, " at least 1"));
}

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options), factor_(options.init_scale) {
  options_.check();
}

Tensor GradScaler::scale(const Tensor& loss) const {
  return options_.enabled ? loss * factor_ : loss;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (progress_.count(&optimizer) > 0) {
    throw Error(absl::FailedPreconditionError(
        "unscale_() has been called for this optimizer, or step(), since the "
        "last update()"));
  }
  optimizer.finish_gradients();
  if (!options_.enabled) {
    progress_[&optimizer] = {};
    return;
  }
  const std::vector<GradientPart> gradients =
      whole(gradients_of(optimizer.parameters()));
  const bool is_finite = look_at(gradients).is_finite;
  scale_gradients(gradients, 1.0 / factor_, "GradScaler");
  progress_[&optimizer] = {.is_finite = is_finite};
}

bool GradScaler::step(Optimizer& optimizer) {
  if (progress_.count(&optimizer) == 0) unscale_(optimizer);
  Progress& progress = progress_[&optimizer];
  if (progress.stepped) {
    throw Error(absl::FailedPreconditionError(
        "step() has been called for this optimizer since the last update()"));
  }
  progress.stepped = true;
  if (progress.is_finite) optimizer.step();
  return progress.is_finite;
}

void GradScaler::note(const Optimizer& optimizer, bool is_finite) {
  progress_[&optimizer] = {.is_finite = is_finite, .stepped = true};
}

void GradScaler::update() {
  if (!options_.enabled) {
    progress_.clear();
    return;
  }
  if (progress_.empty()) {
    throw Error(absl::FailedPreconditionError(
        "update() of a GradScaler that has looked at no gradients since the "
        "last one; call step() first"));
  }
  const bool is_finite =
      std::all_of(progress_.begin(), progress_.end(),
                  [](const auto& entry) { return entry.second.is_finite; });
  progress_.clear();
  if (!is_finite) {
    factor_ *= options_.backoff_factor;
    good_steps_ = 0;
  } else if (++good_steps_ == options_.growth_interval) {
    // Beyond float32 all losses would be infinite.
    const double larger = factor_ * options_.growth_factor;
    if (std::isfinite(static_cast<float>(larger))) factor_ = larger;
    good_steps_ = 0;
  }
}

nn::StateDict GradScaler::state_dict() const {
  return {{"scale", nn::scalar_tensor(factor_)},
          {"growth_factor", nn::scalar_tensor(options_.growth_factor)},
          {"backoff_factor", nn::scalar_tensor(options_.backoff_factor)},
          {"growth_interval", nn::count_tensor(options_.growth_interval)},
          {"growth_tracker", nn::count_tensor(good_steps_)}};
}

void GradScaler::load_state_dict(const nn::StateDict& state,
                                 const nn::LoadOptions& options) {
  const auto number = [&](const char* name) {
    return nn::scalar_of(entry_of(state, name, options));
  };
  const auto count = [&](const char* name) {
    return nn::count_of(entry_of(state, name, options));
  };
  const GradScalerOptions loaded = {.init_scale = number("scale"),
                                    .growth_factor = number("growth_factor"),
                                    .backoff_factor = number("backoff_factor"),
                                    .growth_interval = count("growth_interval"),
                                    .enabled = options_.enabled};
  const std::int64_t good_steps = count("growth_tracker");
  loaded.check();
  if (state.size() != state_dict().size() || good_steps < 0 ||
      good_steps >= loaded.growth_interval) {
    throw InvalidArgument(absl::StrCat(
        options.source, " of a GradScaler has ", state.size(),
        " entries, of which growth_tracker is ", good_steps, "; ",
        state_dict().size(), " were expected, and a growth_tracker from 0 to ",
        loaded.growth_interval - 1));
  }
  options_ = loaded;
  factor_ = loaded.init_scale;
  good_steps_ = good_steps;
}

}  // namespace hvd::optim
