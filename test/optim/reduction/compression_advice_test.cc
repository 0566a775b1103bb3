// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/compression_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "horovodpp/compression/compressors.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"

namespace hvd::optim {
namespace {

using ::testing::HasSubstr;

// A link of 1 Gbit/s, and a quarter of the bytes; in seconds for each byte of
// gradients.
constexpr double kSlow = 8e-9;

TEST(CompressionAdvice, IsSilentIfCompressionMayPay) {
  EXPECT_EQ(advice("int8", {.ranks = 2,
                            .plain_seconds = kSlow,
                            .start_seconds = 0.7 * kSlow,
                            .traffic = 0.25}),
            std::nullopt);
}

TEST(CompressionAdvice, WarnsIfCompressingTakesLongerThanItSaves) {
  const auto text = advice("int8", {.ranks = 2,
                                    .plain_seconds = kSlow,
                                    .start_seconds = 0.8 * kSlow,
                                    .traffic = 0.25});
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr("'int8'"));
  EXPECT_THAT(*text, HasSubstr("it cannot pay"));
}

TEST(CompressionAdvice, WarnsIfNoTrafficIsSaved) {
  EXPECT_TRUE(advice("top-k", {.ranks = 4,
                               .plain_seconds = kSlow,
                               .start_seconds = 0,
                               .traffic = 1.5}));
}

TEST(CompressionAdvice, MeasuresTheLink) {
  run_ranks(2, [] {
    const replica::GradientReducer reducer(current_runtime());
    const double seconds = measure_link(reducer);
    EXPECT_GT(seconds, 0);
    EXPECT_TRUE(std::isfinite(seconds));
  });
}

}  // namespace
}  // namespace hvd::optim
