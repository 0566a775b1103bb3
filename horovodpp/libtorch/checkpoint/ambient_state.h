// SPDX-License-Identifier: Apache-2.0
// The hidden inputs of a function: the states of random number generators, and
// autocast.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/torch_version.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// The state of this thread.
class AutocastState {
 public:
  static AutocastState current() {
    AutocastState state;
    for (std::size_t i = 0; i < kDevices.size(); ++i) {
      state.devices_[i] = {is_enabled(kDevices[i]), dtype(kDevices[i])};
    }
    state.caches_ = at::autocast::is_autocast_cache_enabled();
    return state;
  }

  void restore() const {
    for (std::size_t i = 0; i < kDevices.size(); ++i) {
      set(kDevices[i], devices_[i]);
    }
    at::autocast::set_autocast_cache_enabled(caches_);
  }

 private:
  struct OfDevice {
    bool is_enabled;
    at::ScalarType dtype;
  };
  static constexpr std::array<at::DeviceType, 2> kDevices = {at::kCPU,
                                                             at::kCUDA};

#if HVD_TORCH_AT_LEAST(2, 4)
  static bool is_enabled(at::DeviceType device) {
    return at::autocast::is_autocast_enabled(device);
  }
  static at::ScalarType dtype(at::DeviceType device) {
    return at::autocast::get_autocast_dtype(device);
  }
  static void set(at::DeviceType device, const OfDevice& state) {
    at::autocast::set_autocast_enabled(device, state.is_enabled);
    at::autocast::set_autocast_dtype(device, state.dtype);
  }
#else
  static bool is_enabled(at::DeviceType device) {
    return device == at::kCPU ? at::autocast::is_cpu_enabled()
                              : at::autocast::is_enabled();
  }
  static at::ScalarType dtype(at::DeviceType device) {
    return device == at::kCPU ? at::autocast::get_autocast_cpu_dtype()
                              : at::autocast::get_autocast_gpu_dtype();
  }
  static void set(at::DeviceType device, const OfDevice& state) {
    if (device == at::kCPU) {
      at::autocast::set_cpu_enabled(state.is_enabled);
      at::autocast::set_autocast_cpu_dtype(state.dtype);
    } else {
      at::autocast::set_enabled(state.is_enabled);
      at::autocast::set_autocast_gpu_dtype(state.dtype);
    }
  }
#endif

  std::array<OfDevice, kDevices.size()> devices_ = {};
  bool caches_ = true;
};

// The states of some devices' default generators.
class GeneratorStates {
 public:
  GeneratorStates() = default;
  explicit GeneratorStates(const std::vector<at::Device>& devices) {
    for (const at::Device& device : devices) {
      at::Generator generator = at::globalContext().defaultGenerator(device);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      states_.push_back({device, generator.get_state()});
    }
  }

  void restore() const {
    for (const auto& [device, state] : states_) {
      at::Generator generator = at::globalContext().defaultGenerator(device);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
    }
  }

  std::vector<at::Device> devices() const {
    std::vector<at::Device> all;
    for (const auto& [device, state] : states_) all.push_back(device);
    return all;
  }

 private:
  std::vector<std::pair<at::Device, at::Tensor>> states_;
};

struct AmbientState {
  AutocastState autocast = AutocastState::current();
  GeneratorStates generators = {};
};

// Restores `state` while in scope.
class AmbientScope {
 public:
  explicit AmbientScope(const AmbientState& state)
      : outer_{AutocastState::current(),
               GeneratorStates(state.generators.devices())} {
    at::autocast::increment_nesting();
    state.autocast.restore();
    state.generators.restore();
  }
  ~AmbientScope() {
    // The cached casts belong to a graph that ends.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    outer_.autocast.restore();
    try {
      outer_.generators.restore();
    } catch (const std::exception& error) {
      std::fprintf(stderr,
                   "horovodpp: random numbers go on from another state after a "
                   "recomputation: %s\n",
                   error.what());
    }
  }
  AmbientScope(const AmbientScope&) = delete;
  AmbientScope& operator=(const AmbientScope&) = delete;

 private:
  const AmbientState outer_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
