// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/item_random.h"

#include <utility>

namespace hvd::data {
namespace {

// In place of a rank in the counter, so that no batch has these numbers.
constexpr std::uint32_t kItems = 0xFFFFFFFF;

thread_local const PassSeed* current_pass_ = nullptr;

}  // namespace

PassScope::PassScope(const PassSeed& pass)
    : pass_(pass), before_(std::exchange(current_pass_, &pass_)) {}

PassScope::~PassScope() { current_pass_ = before_; }

bool pass_has_workers() {
  return current_pass_ != nullptr && current_pass_->has_workers;
}

autograd::Generator item_generator(std::int64_t index) {
  const PassSeed pass =
      current_pass_ != nullptr
          ? *current_pass_
          : PassSeed{.seed = autograd::default_generator().state().seed};
  const auto item = static_cast<std::uint64_t>(index);
  const auto words = autograd::philox(
      {static_cast<std::uint32_t>(item), static_cast<std::uint32_t>(item >> 32),
       static_cast<std::uint32_t>(pass.epoch), kItems},
      {static_cast<std::uint32_t>(pass.seed),
       static_cast<std::uint32_t>(pass.seed >> 32)});
  return autograd::Generator((std::uint64_t{words[1]} << 32) | words[0]);
}

}  // namespace hvd::data
