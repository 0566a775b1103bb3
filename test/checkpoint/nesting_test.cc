// SPDX-License-Identifier: Apache-2.0
// Section 1L of the contract: regions, backwards and hooks within regions, and
// groups of backward calls.
#include "horovodpp/checkpoint/replay_group.h"

#include <functional>
#include <optional>
#include <utility>

#include "test/checkpoint/regions.h"

namespace hvd {
namespace {

using autograd::CheckpointError;

// Item 171.
TEST(Checkpoint, NestedRegionsAndGradientsOfGradientsArePlain) {
  using Map = std::function<Tensor(const Tensor&)>;
  const auto c = [](Map f) -> Map {
    return [f](const Tensor& x) { return checkpoint(f, x); };
  };
  const auto g = [](Map f) -> Map {
    return [f](const Tensor& x) {
      Tensor in = x.requires_grad() ? x : x.detach().set_requires_grad(true);
      return autograd::grad({f(in).sum()}, {in}, {}, {.create_graph = true})[0];
    };
  };
  const Map f = [](const Tensor& x) { return wave(x); };
  const Map id = [](const Tensor& x) { return x; };
  Tensor x = leaf({0.3, 0.7}, {2});
  const auto same = [&](const Map& a, const Map& b) {
    EXPECT_EQ(values(a(x)), values(b(x)));
    EXPECT_EQ(values(g(a)(x)), values(g(b)(x)));
    EXPECT_EQ(values(g(g(a))(x)), values(g(g(b))(x)));
  };
  same(c(f), f);
  same(c(c(f)), f);
  same(c(c(c(f))), f);
  same(c(g(f)), g(f));
  same(g(c(f)), g(f));
  same(c(g(c(f))), g(f));
  same(g(c(g(c(f)))), g(g(f)));
}

// Item 171: tensors that an inner region keeps belong to the outer region.
TEST(Checkpoint, OfNestedRegionsOnlyTheOuterInputsAreKept) {
  Tensor x = randn64({64});
  const std::int64_t before = autograd::saved_tensor_bytes();
  int inner = 0, outer = 0;
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        ++outer;
        Tensor z = sin(in);
        for (int i = 0; i < 3; ++i) {
          z = checkpoint(
              [&](const Tensor& t) {
                ++inner;
                return wave(t);
              },
              z);
        }
        return z;
      },
      x);
  EXPECT_EQ(autograd::saved_tensor_bytes() - before, 512);
  y.sum().backward();
  EXPECT_EQ(outer, 2);
  // Forward; the outer replay, which ends at the last region's input; and one
  // replay of each.
  EXPECT_EQ(inner, 3 + 2 + 3);
}

// Item 172.
TEST(Checkpoint, ABackwardWithinTheFunctionIsPlain) {
  Tensor x = leaf({0.3, 0.7}, {2}), w = leaf({2, 3}, {2});
  for (const bool retain : {false, true}) {
    auto f = [&](const Tensor& in) {
      Tensor y = wave(in * w);
      const Tensor slope =
          autograd::grad({y.sum()}, {w}, {}, {.retain_graph = retain})[0];
      return retain ? y * slope : wave(in * slope);
    };
    const auto plain = gradients({x, w}, [&] { return f(x); });
    EXPECT_EQ(gradients({x, w}, [&] { return checkpoint(f, x); }), plain);
    EXPECT_EQ(gradients({x, w}, [&] { return checkpoint(f, x, kNoEarlyStop); }),
              plain);
  }
}

// Items 56, 173.
TEST(Checkpoint, HooksWithinRunOnce) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  int heard = 0, accumulated = 0;
  w.register_post_accumulate_grad_hook([&](const Tensor&) { ++accumulated; });
  auto f = [&](const Tensor& in) {
    Tensor y = sin(in * w);
    if (!autograd::is_recomputing()) {
      y.register_hook([&](const Tensor&) { ++heard; });
    }
    return exp(y * w);
  };
  Tensor y = checkpoint(f, x);
  (checkpoint(f, y) + w).sum().backward();
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(accumulated, 1);
}

// Item 174.
TEST(Checkpoint, AHookMayCallBackwardAgain) {
  Tensor x = leaf({1, 2}, {2});
  Tensor z;
  bool inside = false;
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        Tensor made = sin(in);
        if (!autograd::is_recomputing()) {
          made.register_hook([&](const Tensor&) {
            if (std::exchange(inside, true)) return;
            z.backward({}, {.retain_graph = true});
          });
        }
        return exp(made);
      },
      x);
  z = y.sum();
  z.backward({}, {.retain_graph = true});
  const auto once = autograd::grad({wave(x).sum()}, {x});
  const Tensor expected = autograd::grad({exp(sin(x)).sum()}, {x})[0];
  EXPECT_EQ(values(x.grad()), values(expected * 2.0));
  z = {};
}

TEST(Checkpoint, AGroupEndsWithItsScope) {
  { const autograd::ReplayGroup group; }
  EXPECT_NO_THROW(autograd::ReplayGroup());
}

// Item 175.
TEST(Checkpoint, AGroupSharesOneReplay) {
  int runs = 0;
  const auto partial = [&](bool grouped) {
    Tensor x = leaf({0.3, 0.7}, {2});
    Tensor y;
    runs = 0;
    Tensor z = checkpoint(
        [&](const Tensor& in) {
          ++runs;
          Tensor middle = sin(in);
          if (!autograd::is_recomputing()) y = middle;
          return exp(middle);
        },
        x);
    std::optional<autograd::ReplayGroup> group;
    if (grouped) group.emplace();
    const Tensor dy =
        autograd::grad({z.sum()}, {y}, {}, {.retain_graph = true})[0];
    return values(autograd::grad({y}, {x}, {dy})[0]);
  };
  const auto apart = partial(false);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(partial(true), apart);
  EXPECT_EQ(runs, 2);
  autograd::ReplayGroup group;
  EXPECT_ERROR(CheckpointError, "do not nest", autograd::ReplayGroup());
}

// Item 175.
TEST(Checkpoint, CallsOfAGroupMustNotOverlap) {
  Tensor x = leaf({1, 2}, {2});
  Tensor other = checkpoint([](const Tensor& in) { return sin(in); }, x).sum();
  Tensor y = checkpoint([](const Tensor& in) { return exp(sin(in)); }, x);
  y.register_hook([](const Tensor& g) { return g; });
  Tensor z = checkpoint([](const Tensor& in) { return tanh(in); }, y).sum();
  y.register_hook([&](const Tensor&) { other.backward(); });
  autograd::ReplayGroup group;
  EXPECT_ERROR(CheckpointError, "within a backward", z.backward());
}

}  // namespace
}  // namespace hvd
