// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/distributed_sampler.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {

DistributedSampler::DistributedSampler(std::int64_t dataset_size,
                                       const SamplerOptions& options)
    : dataset_size_(dataset_size), options_(options) {
  if (dataset_size <= 0) {
    throw InvalidArgument(
        absl::StrCat("a sampler of a data set of ", dataset_size, " items"));
  }
  count_samples();
}

void DistributedSampler::count_samples() {
  if (options_.num_replicas < 1 || options_.rank < 0 ||
      options_.rank >= options_.num_replicas) {
    throw InvalidArgument(absl::StrCat("rank ", options_.rank, " of ",
                                       options_.num_replicas, " replicas"));
  }
  const std::int64_t replicas = options_.num_replicas;
  const std::int64_t items = dataset_size_ - begin_;
  num_samples_ =
      options_.drop_last ? items / replicas : (items + replicas - 1) / replicas;
  if (num_samples_ == 0 && begin_ == 0) {
    throw InvalidArgument(
        absl::StrCat(dataset_size_, " items are fewer than ", replicas,
                     " replicas, and drop_last leaves each of them none"));
  }
}

std::int64_t DistributedSampler::items_read() const {
  return std::min(begin_ + position_ * options_.num_replicas, dataset_size_);
}

void DistributedSampler::distribute(std::int64_t begin, int num_replicas,
                                    int rank) {
  if (begin < 0 || begin > dataset_size_) {
    throw InvalidArgument(absl::StrCat("item ", begin, " of a data set of ",
                                       dataset_size_, " items"));
  }
  options_.num_replicas = num_replicas;
  options_.rank = rank;
  begin_ = begin;
  position_ = 0;
  count_samples();
  if (num_samples_ == 0) set_epoch(epoch_ + 1);
}

std::vector<std::int64_t> DistributedSampler::indices() const {
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset_size_));
  if (options_.shuffle) {
    // Hashed first, so that seed 1 of epoch 0 differs from seed 0 of epoch 1.
    autograd::Generator base(options_.seed);
    autograd::Generator generator(base.fork().state().seed +
                                  static_cast<std::uint64_t>(epoch_));
    generator.permutation(order);
  } else {
    std::iota(order.begin(), order.end(), std::int64_t{0});
  }
  std::vector<std::int64_t> mine;
  for (std::int64_t i = position_; i < num_samples_; ++i) {
    const std::int64_t place = i * options_.num_replicas + options_.rank;
    const std::int64_t wrapped = place % (dataset_size_ - begin_);
    mine.push_back(order[static_cast<std::size_t>(begin_ + wrapped)]);
  }
  return mine;
}

void DistributedSampler::set_epoch(std::int64_t epoch) {
  if (epoch < 0) {
    throw InvalidArgument(absl::StrCat("epoch ", epoch, " is negative"));
  }
  if (epoch == epoch_) return;
  epoch_ = epoch;
  position_ = 0;
  begin_ = 0;
  count_samples();
}

void DistributedSampler::set_position(std::int64_t position) {
  if (position < 0 || position > num_samples_) {
    throw InvalidArgument(absl::StrCat(
        "position ", position, " in an epoch of ", num_samples_, " items"));
  }
  position_ = position;
}

Tensor DistributedSampler::state() const {
  const bool at_end = position_ == num_samples_;
  return from_vector<std::int64_t>(
      {at_end ? epoch_ + 1 : epoch_, at_end ? 0 : position_,
       static_cast<std::int64_t>(options_.seed), dataset_size_,
       options_.num_replicas},
      {5});
}

std::vector<std::int64_t> DistributedSampler::numbers_of(const Tensor& state,
                                                         const Tensor& own) {
  if (!state.defined() || state.dtype() != own.dtype() ||
      state.shape() != own.shape()) {
    throw InvalidArgument(absl::StrCat(
        "the state of a sampler should be ", own.describe(), ", but is ",
        state.defined() ? state.describe() : "undefined"));
  }
  return state.to_vector<std::int64_t>();
}

void DistributedSampler::load_state(const Tensor& state) {
  const Tensor own = this->state();
  const auto values = numbers_of(state, own);
  const auto mine = own.to_vector<std::int64_t>();
  const auto describe = [](const std::vector<std::int64_t>& v) {
    return absl::StrCat("seed ", static_cast<std::uint64_t>(v[2]), ", ", v[3],
                        " items and ", v[4], " replicas");
  };
  if (values[0] < 0 ||
      !std::equal(mine.begin() + 2, mine.end(), values.begin() + 2)) {
    throw InvalidArgument(absl::StrCat(
        "the state of a sampler is of epoch ", values[0], " with ",
        describe(values), "; this one has ", describe(mine),
        ", and goes on with the same only (set_epoch and set_position begin "
        "elsewhere)"));
  }
  set_position(values[1]);
  epoch_ = values[0];
}

}  // namespace hvd::data
