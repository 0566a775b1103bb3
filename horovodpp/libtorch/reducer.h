// SPDX-License-Identifier: Apache-2.0
// The reducer of an optimizer's gradients: see
// horovodpp/replica/gradient_reducer.h.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/distributed_options.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/tensors.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// Whether this rank has other ranks to reduce with.
//   Error (HVD_FAILED_PRECONDITION)  there is no job
inline bool has_peers(const ProcessSet& set) {
  return size() > 1 && set.included() && set.size() > 1;
}

// Converts the options; valid as long as `options`.
inline hvd_reducer_options in_words(const OptimizerOptions& options) {
  hvd_reducer_options words = HVD_REDUCER_OPTIONS;
  words.name = options.name.c_str();
  words.op = static_cast<std::int32_t>(options.op);
  words.process_set = options.process_set.handle();
  return words;
}

inline hvd_reducer_options in_words(const DistributedOptions& options) {
  hvd_reducer_options words =
      in_words(static_cast<const OptimizerOptions&>(options));
  words.gradient_predivide_factor = options.gradient_predivide_factor;
  words.compression = static_cast<std::int32_t>(options.compression);
  words.power_sgd_rank = options.power_sgd_rank;
  words.top_k_share = options.top_k_share;
  words.compression_momentum = options.compression_momentum;
  words.compression_warmup_steps = options.compression_warmup_steps;
  words.top_k_warmup_share = options.top_k_warmup_share;
  words.top_k_whole_below = options.top_k_whole_below;
  words.top_k_max_norm = options.top_k_max_norm;
  words.top_k_mask_velocity = options.top_k_mask_velocity ? 1 : 0;
  words.compute_threads = options.compute_threads;
  return words;
}

class Reducer {
 public:
  explicit Reducer(hvd_reducer_options options,
                   const std::vector<std::vector<std::string>>& groups = {}) {
    std::vector<const char*> keys;
    std::vector<std::size_t> sizes;
    for (const auto& group : groups) {
      for (const std::string& key : group) keys.push_back(key.c_str());
      sizes.push_back(group.size());
    }
    options.group_keys = keys.data();
    options.group_sizes = sizes.data();
    options.num_groups = sizes.size();
    throw_if_error(hvd_reducer_create(&options, &handle_));
  }
  // Waits for operations in flight.
  ~Reducer() { hvd_reducer_destroy(handle_); }
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  void expect(const std::string& key, int contributions) {
    throw_if_error(hvd_reducer_expect(handle_, key.c_str(), contributions));
  }
  // Whether this contribution is the last of the step.
  bool contribute(const std::string& key) {
    std::int32_t last = 0;
    throw_if_error(hvd_reducer_contribute(handle_, key.c_str(), &last));
    return last != 0;
  }
  // `tensor`, which the library can use, is borrowed until finish() or discard().
  void add(const std::string& key, const torch::Tensor& tensor) {
    const hvd_tensor in_words = described(tensor);
    throw_if_error(hvd_reducer_add(handle_, key.c_str(), &in_words));
  }
  // Sums the ranks' numbers; waits.
  double sum(const std::string& key, double number) {
    throw_if_error(hvd_reducer_sum(handle_, key.c_str(), &number, 1));
    return number;
  }
  // Flags of the gradients that are still to be added: see hvd_reducer_rest().
  std::vector<std::uint8_t> rest(const std::vector<const char*>& keys,
                                 const std::vector<std::uint8_t>& exist) {
    std::vector<std::uint8_t> rest(keys.size());
    throw_if_error(hvd_reducer_rest(handle_, keys.data(), keys.size(),
                                    exist.empty() ? nullptr : exist.data(),
                                    rest.data()));
    return rest;
  }
  void finish() { throw_if_error(hvd_reducer_finish(handle_)); }
  void discard() { throw_if_error(hvd_reducer_discard(handle_)); }

  hvd_reducer_stats stats() const {
    hvd_reducer_stats stats = HVD_REDUCER_STATS;
    throw_if_error(hvd_reducer_get_stats(handle_, &stats));
    return stats;
  }

 private:
  hvd_reducer handle_ = 0;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
