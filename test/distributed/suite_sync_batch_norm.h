// SPDX-License-Identifier: Apache-2.0
// Batch normalization over all ranks, compared with one process over all
// images.
#pragma once

#include <vector>

#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/distributed/sync_batch_norm.h"
#include "horovodpp/nn/layers/norms.h"
#include "test/distributed/suite_support.h"

namespace hvd::suite {

constexpr std::int64_t kNormChannels = 3;

// Rank r has r images. The last rank, which may be the only one, has three
// more.
inline std::int64_t images_of(int rank) {
  return rank == size() - 1 ? rank + 3 : rank;
}

inline Tensor all_images() {
  std::int64_t count = 0;
  for (int r = 0; r < size(); ++r) count += images_of(r);
  Numbers numbers;
  for (std::int64_t i = 0; i < count * kNormChannels * 4; ++i) {
    numbers.push_back(static_cast<double>((i * 7 + i / 5) % 23) / 4.0 + 100.0);
  }
  return from_vector<double>(numbers, {count, kNormChannels, 2, 2});
}

inline Tensor images_on(int rank, const Tensor& all) {
  std::int64_t first = 0;
  for (int r = 0; r < rank; ++r) first += images_of(r);
  return all.narrow(0, first, images_of(rank)).contiguous();
}

// The outcome of a norm: results, gradients, running moments.
struct Normalized {
  Tensor results;
  Tensor gradient;
  Numbers weight_gradient;
  Numbers running;
};

inline Normalized normalize_with(nn::BatchNorm2d& norm, const Tensor& images,
                                 bool recomputes = false) {
  Tensor x = images.clone();
  x.set_requires_grad(true);
  const auto run = [&](const Tensor& in) { return norm(in); };
  const Tensor y = recomputes ? checkpoint(run, x) : run(x);
  (y * y * y + sin(y)).sum().backward();
  Numbers running = values(norm.running_mean());
  for (const double number : values(norm.running_var())) {
    running.push_back(number);
  }
  Normalized result{y.detach(), x.grad(), values(norm.weight().grad()),
                    running};
  norm.zero_grad();
  return result;
}

inline void expect_near_numbers(const Numbers& found, const Numbers& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-8 * (1 + std::abs(expected[i])));
  }
}

inline void moments_are_those_of_all_ranks() {
  const Tensor all = all_images();
  nn::SyncBatchNorm synced(kNormChannels, {.dtype = DType::kF64});
  nn::BatchNorm2d alone(kNormChannels, {.dtype = DType::kF64});
  for (int step = 0; step < 2; ++step) {
    const Normalized expected = normalize_with(alone, all);
    const Normalized found =
        normalize_with(synced, images_on(rank(), all), step == 1);
    expect_near_numbers(values(found.results),
                        values(images_on(rank(), expected.results)));
    expect_near_numbers(values(found.gradient),
                        values(images_on(rank(), expected.gradient)));
    expect_near_numbers(found.running, expected.running);
    // Each rank has the share of its images.
    const Tensor sum =
        allreduce(from_vector<double>(found.weight_gradient, {kNormChannels}),
                  {.op = ReduceOp::kSum});
    expect_near_numbers(values(sum), expected.weight_gradient);
  }
  synced.eval();
  alone.eval();
  expect_near_numbers(values(synced(all).detach()),
                      values(alone(all).detach()));
}

inline void one_value_for_all_ranks_is_refused() {
  nn::SyncBatchNorm synced(1);
  const Tensor x = zeros({rank() == 0 ? 1 : 0, 1, 1, 1});
  EXPECT_ERROR(Error, "all ranks together have 1", synced(x));
  EXPECT_ERROR(Error, "wanted is [n, c, ...]", synced(zeros({4})));
}

inline constexpr TensorCase kSyncBatchNormCases[] = {
    {"MomentsAreThoseOfAllRanks", moments_are_those_of_all_ranks},
    {"OneValueForAllRanksIsRefused", one_value_for_all_ranks_is_refused}};

}  // namespace hvd::suite
