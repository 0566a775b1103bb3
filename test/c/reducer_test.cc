// SPDX-License-Identifier: Apache-2.0
// A C reducer sends the same as a C++ reducer with equal options.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/compression/compressors.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"

namespace hvd {
namespace {

using Values = std::vector<float>;
// Reduces the gradient of a key.
using Reduce = std::function<void(const std::string& key, Values& gradient)>;

constexpr std::int64_t kFew = 10;
constexpr std::int64_t kMany = 300;

// The reduced gradients of some steps, each with different gradients.
Values reduced(const Reduce& reduce) {
  Values all;
  for (int step = 0; step < 6; ++step) {
    for (const std::int64_t size : {kFew, kMany}) {
      Values gradient;
      for (std::int64_t i = 0; i < size; ++i) {
        const auto n = static_cast<float>((i * 37 + step * 11) % 101 - 50);
        gradient.push_back(n * static_cast<float>(rank() + 1));
      }
      reduce(std::to_string(size), gradient);
      all.insert(all.end(), gradient.begin(), gradient.end());
    }
  }
  return all;
}

Values reduced_in_cpp(std::unique_ptr<compression::Compressor> compressor) {
  replica::ReducerOptions options;
  options.name = "cpp";
  options.compressor = std::move(compressor);
  replica::GradientReducer reducer(current_runtime(), std::move(options));
  return reduced([&](const std::string& key, Values& gradient) {
    const auto size = static_cast<std::int64_t>(gradient.size());
    reducer.add(key, TensorView::of(gradient.data(), {size}));
    reducer.finish();
  });
}

Values reduced_in_c(hvd_reducer_options options) {
  options.name = "c";
  hvd_reducer reducer = 0;
  EXPECT_EQ(hvd_reducer_create(&options, &reducer), HVD_OK)
      << hvd_last_error_text();
  Values all = reduced([&](const std::string& key, Values& gradient) {
    const auto size = static_cast<std::int64_t>(gradient.size());
    const hvd_tensor tensor = {gradient.data(), &size, 1, HVD_FLOAT32, HVD_CPU};
    EXPECT_EQ(hvd_reducer_add(reducer, key.c_str(), &tensor), HVD_OK);
    EXPECT_EQ(hvd_reducer_finish(reducer), HVD_OK) << hvd_last_error_text();
  });
  EXPECT_EQ(hvd_reducer_destroy(reducer), HVD_OK);
  return all;
}

TEST(ReducerInC, TopKHasAllOptionsOfCpp) {
  run_ranks(
      2,
      [] {
        const compression::TopKOptions plain = {.share = 0.05};
        hvd_reducer_options in_c = HVD_REDUCER_OPTIONS;
        in_c.compression = HVD_COMPRESSION_TOP_K;
        in_c.top_k_share = plain.share;
        const Values without = reduced_in_cpp(compression::top_k(plain));
        EXPECT_EQ(reduced_in_c(in_c), without);
        // One option at a time, so that each is tested.
        const auto expect_same = [&](const compression::TopKOptions& options,
                                     const hvd_reducer_options& same) {
          const Values with = reduced_in_cpp(compression::top_k(options));
          EXPECT_NE(with, without);
          EXPECT_EQ(reduced_in_c(same), with);
        };
        compression::TopKOptions options = plain;
        hvd_reducer_options same = in_c;
        options.momentum = same.compression_momentum = 0.5;
        expect_same(options, same);
        options.mask_velocity = true;
        same.top_k_mask_velocity = 1;
        expect_same(options, same);
        options = plain;
        same = in_c;
        options.whole_below = same.top_k_whole_below = kFew + 1;
        expect_same(options, same);
        options = plain;
        same = in_c;
        options.max_norm = same.top_k_max_norm = 100;
        expect_same(options, same);
        options = plain;
        same = in_c;
        options.warmup_steps = same.compression_warmup_steps = 3;
        expect_same(options, same);
        options.warmup_share = same.top_k_warmup_share = 0.75;
        expect_same(options, same);
      },
      Config());
}

TEST(ReducerInC, SignsHaveAllOptionsOfCpp) {
  run_ranks(
      2,
      [] {
        hvd_reducer_options same = HVD_REDUCER_OPTIONS;
        same.compression = HVD_COMPRESSION_SIGNS;
        EXPECT_EQ(reduced_in_c(same), reduced_in_cpp(compression::signs()));
        same.compression_warmup_steps = 2;
        same.compression_momentum = 0.5;
        const Values with = reduced_in_cpp(
            compression::signs({.warmup_steps = 2, .momentum = 0.5}));
        EXPECT_EQ(reduced_in_c(same), with);
      },
      Config());
}

}  // namespace
}  // namespace hvd
