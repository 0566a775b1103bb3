// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/arena_gradients.h"

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/runtime/arena_alloc.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {
namespace {

// Longer gradients begin on their own cache line.
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::shared_ptr<void> arena_block(Runtime& job, std::size_t bytes) {
  std::shared_ptr<void> block = arena_alloc_bytes(job, bytes);
  if (block != nullptr) std::memset(block.get(), 0, bytes);
  return block;
}

std::vector<std::size_t> order_of_gradients(
    const std::vector<nn::NamedTensor>& parameters,
    const std::vector<std::vector<std::string>>& groups) {
  absl::flat_hash_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    places[parameters[i].name] = i;
  }
  std::vector<const std::vector<std::string>*> group_of(parameters.size());
  for (const std::vector<std::string>& group : groups) {
    for (const std::string& name : group) group_of[places.at(name)] = &group;
  }
  std::vector<std::size_t> order;
  std::vector<bool> is_placed(parameters.size());
  const auto place = [&](std::size_t i) {
    if (!is_placed[i]) order.push_back(i);
    is_placed[i] = true;
  };
  for (std::size_t i = parameters.size(); i-- > 0;) {
    if (group_of[i] == nullptr || is_placed[i]) {
      place(i);
    } else {
      for (const std::string& name : *group_of[i]) place(places.at(name));
    }
  }
  return order;
}

std::shared_ptr<autograd::GradientHome> home_in(
    const std::shared_ptr<void>& block, std::size_t offset,
    const Tensor& parameter) {
  auto* const place = static_cast<std::byte*>(block.get()) + offset;
  return std::make_shared<autograd::GradientHome>(
      std::shared_ptr<void>(block, place), parameter.shape(),
      autograd::gradient_strides(parameter), parameter.dtype());
}

ArenaGradients::~ArenaGradients() {
  for (const Member& member : members_) {
    autograd::set_gradient_home(member.parameter.tensor, nullptr);
  }
}

bool ArenaGradients::add(Runtime& job,
                         const std::vector<nn::NamedTensor>& parameters) {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (const auto& [name, parameter] : parameters) {
    offsets.push_back(bytes);
    bytes += aligned(parameter.bytes());
  }
  if (bytes == 0) return true;
  const std::shared_ptr<void> block = arena_block(job, bytes);
  if (block == nullptr) return false;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = parameters[i].tensor;
    if (parameter.num_elements() == 0) continue;
    members_.push_back({parameters[i], home_in(block, offsets[i], parameter)});
    autograd::set_gradient_home(parameter, members_.back().home);
  }
  return true;
}

std::vector<std::string> ArenaGradients::strayed() {
  std::vector<std::string> names;
  for (auto& [parameter, home, is_at_home] : members_) {
    const Tensor gradient = autograd::kept_gradient(parameter.tensor);
    if (!gradient.defined()) continue;
    const bool was_at_home = std::exchange(is_at_home, home->holds(gradient));
    if (was_at_home && !is_at_home) names.push_back(parameter.name);
  }
  return names;
}

}  // namespace hvd::optim
