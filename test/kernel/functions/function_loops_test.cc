// SPDX-License-Identifier: Apache-2.0
// The loops agree on all instruction sets, for every length and place of the
// results. test/ops/unary and test/ops/binary compare the values with formulas.
#include "horovodpp/kernel/functions/function_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/kernel/functions/choice_loop.h"
#include "horovodpp/kernel/functions/pair_loops.h"
#include "test/support/vector_targets.h"

namespace hvd::autograd {
namespace {

const Constants kSomeNumbers = {0.75f, 1.5f, 1.25f};

std::vector<float> numbers_in_order(double step) {
  std::vector<float> all;
  for (double x = -9.7; x < 9.7; x += step) {
    all.push_back(static_cast<float>(x));
  }
  return all;
}

// The same, and numbers that are not finite.
std::vector<float> all_numbers() {
  std::vector<float> all = numbers_in_order(0.0713);
  all.insert(all.end(), {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e-40f, 3e38f});
  return all;
}

// All loops of these numbers, one result after the other.
std::vector<float> all_results() {
  const std::vector<float> a = all_numbers();
  const std::vector<float> b(a.rbegin(), a.rend());
  const std::vector<float> dy(a.size(), 1.25f);
  std::vector<float> out(a.size()), all;
  const auto add = [&](FunctionLoop loop, std::vector<const float*> in) {
    loop(in.data(), kSomeNumbers, out.data(), out.size());
    all.insert(all.end(), out.begin(), out.end());
  };
  for (int id = 0; id < static_cast<int>(FunctionId::kCount); ++id) {
    add(value_loop(static_cast<FunctionId>(id)), {a.data()});
    add(slope_loop(static_cast<FunctionId>(id)), {dy.data(), a.data()});
  }
  for (int id = 0; id < static_cast<int>(PairId::kCount); ++id) {
    const auto pair = static_cast<PairId>(id);
    add(pair_value_loop(pair), {a.data(), b.data()});
    add(pair_first_loop(pair), {dy.data(), a.data(), b.data()});
    add(pair_second_loop(pair), {dy.data(), a.data(), b.data()});
  }
  return all;
}

TEST(FunctionLoops, AgreeOnAllInstructionSets) {
  const std::vector<float> best = all_results();
  for_each_target([&] {
    const std::vector<float> here = all_results();
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (std::isnan(best[i]) && std::isnan(here[i])) continue;
      if (best[i] == here[i]) continue;  // Infinities.
      ASSERT_NEAR(here[i], best[i], 1e-5 + 2e-6 * std::abs(best[i]))
          << "result " << i % all_numbers().size() << " of loop "
          << i / all_numbers().size();
    }
  });
}

TEST(FunctionLoops, TakeEveryLengthAndMayReplaceTheirInput) {
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<float> x(n + 1, 2.0f);
    const float* in[] = {x.data()};
    value_loop(FunctionId::kReciprocal)(in, {}, x.data(), n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(x[i], 0.5f);
    EXPECT_EQ(x[n], 2.0f);
  }
}

TEST(ChoiceLoop, ChoosesForEveryLengthAndRepetition) {
  for_each_target([] {
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<std::uint32_t> x(n + 1), y(n + 1), out(n + 1, 7);
      const std::unique_ptr<bool[]> condition(new bool[n + 1]);
      for (std::size_t i = 0; i <= n; ++i) {
        x[i] = static_cast<std::uint32_t>(100 + i);
        y[i] = static_cast<std::uint32_t>(200 + i);
        condition[i] = i % 3 == 0;
      }
      for (const bool repeats_x : {false, true}) {
        for (const bool repeats_y : {false, true}) {
          choose_row(condition.get(), {x.data(), repeats_x},
                     {y.data(), repeats_y}, out.data(), n);
          for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(out[i], condition[i] ? x[repeats_x ? 0 : i]
                                           : y[repeats_y ? 0 : i]);
          }
          EXPECT_EQ(out[n], 7u);
        }
      }
    }
  });
}

}  // namespace
}  // namespace hvd::autograd
