// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/rotary_config.h"

#include <gtest/gtest.h>

#include "horovodpp/core/error.h"
#include "test/support/expect_error.h"

namespace hvd::nn {
namespace {

using Type = RotaryScaling::Type;

TEST(RotaryConfig, ReadsTheNumbersOfLlama3) {
  const RotaryOptions found = parse_rotary_options(R"({
    "hidden_size": 4096, "max_position_embeddings": 131072,
    "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
      "rope_type": "llama3"},
    "rope_theta": 500000.0})");
  EXPECT_EQ(found.base, 500000);
  EXPECT_EQ(found.scaling,
            (RotaryScaling{.rope_type = Type::kLlama3,
                           .factor = 8,
                           .original_max_position_embeddings = 8192}));
}

TEST(RotaryConfig, ReadsOlderAndNewerFiles) {
  const RotaryOptions older = parse_rotary_options(
      R"({"max_position_embeddings": 2048,
          "rope_scaling": {"type": "dynamic", "factor": 2}})");
  EXPECT_EQ(older.base, 10000);
  EXPECT_EQ(older.scaling.rope_type, Type::kDynamic);
  EXPECT_EQ(older.scaling.factor, 2);
  EXPECT_EQ(older.scaling.original_max_position_embeddings, 2048);
  const RotaryOptions newer = parse_rotary_options(
      R"({"rope_parameters": {"rope_type": "linear", "factor": 4,
                              "rope_theta": 1e6}})");
  EXPECT_EQ(newer.base, 1e6);
  EXPECT_EQ(newer.scaling.rope_type, Type::kLinear);
  const RotaryOptions plain =
      parse_rotary_options(R"({"rope_theta": 100, "rope_scaling": null})");
  EXPECT_EQ(plain.base, 100);
  EXPECT_EQ(plain.scaling.rope_type, Type::kDefault);
}

TEST(RotaryConfig, RefusesWhatItCannotFollow) {
  EXPECT_ERROR(InvalidArgument, "no JSON object", parse_rotary_options("[1"));
  EXPECT_ERROR(InvalidArgument, "\"yarn\" is not",
               parse_rotary_options(
                   R"({"rope_scaling": {"rope_type": "yarn", "factor": 4}})"));
  EXPECT_ERROR(InvalidArgument, "'factor' is not a number",
               parse_rotary_options(R"({"rope_scaling": {"factor": "4"}})"));
}

}  // namespace
}  // namespace hvd::nn
