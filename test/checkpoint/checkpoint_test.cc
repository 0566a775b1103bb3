// SPDX-License-Identifier: Apache-2.0
// Section 1L of the contract: the non-reentrant checkpoint.
#include "horovodpp/checkpoint/checkpoint.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/checkpoint/replay_group.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::CheckpointError;
using autograd::GraphFreedError;
using autograd::VersionError;
using testing::AnyOf;
using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

const CheckpointOptions kNoEarlyStop{.early_stop = false};

// The gradients of sum(run()) for `leaves`; clears grad() of the leaves.
template <typename Run>
std::vector<std::vector<double>> gradients(const Tensors& leaves, Run run) {
  for (const Tensor& leaf : leaves) leaf.set_grad({});
  run().sum().backward();
  std::vector<std::vector<double>> result;
  for (const Tensor& leaf : leaves) {
    result.push_back(leaf.grad().defined() ? values(leaf.grad())
                                           : std::vector<double>());
    leaf.set_grad({});
  }
  return result;
}

Tensor wave(const Tensor& x) { return sin(exp(sin(x))); }

// Items 154, 155.
TEST(Checkpoint, KeepsItsInputsOnlyAndRunsOnceMoreInBackward) {
  Tensor x = randn64({4, 4}), w = randn64({4, 4});
  int runs = 0;
  auto block = [&](const Tensor& in) {
    ++runs;
    return tanh(matmul(tanh(matmul(in, w)), w));
  };
  const auto plain = gradients({x, w}, [&] { return block(x); });
  runs = 0;
  const std::int64_t before = autograd::saved_tensor_bytes();
  Tensor y = checkpoint(block, x);
  EXPECT_EQ(autograd::saved_tensor_bytes() - before, 128);
  EXPECT_EQ(runs, 1);
  y.sum().backward();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(values(x.grad()), plain[0]);
  EXPECT_EQ(values(w.grad()), plain[1]);
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
}

// Item 155.
TEST(Checkpoint, WithRetainGraphEachBackwardRunsItOnce) {
  Tensor x = leaf({1, 2}, {2});
  int runs = 0;
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        ++runs;
        return wave(in);
      },
      x);
  y.backward(ones64({2}), {.retain_graph = true});
  y.backward(ones64({2}), {.retain_graph = true});
  EXPECT_EQ(runs, 3);
  y.backward(ones64({2}));
  EXPECT_EQ(runs, 4);
  EXPECT_ERROR(GraphFreedError, "second time", y.backward(ones64({2})));
}

// Item 156.
TEST(Checkpoint, TakesContainersAndOtherValuesAndReturnsAnything) {
  Tensor a = leaf({1, 2}, {2}), b = leaf({3, 4}, {2}), c = leaf({5, 6}, {2});
  struct Result {
    Tensor sum;
    std::string name;
    std::map<std::string, Tensor> parts;
  };
  auto f = [](const std::vector<Tensor>& list, const std::string& name,
              const std::map<int, std::pair<Tensor, double>>& more,
              std::optional<Tensor> none, const char* text) {
    const auto& [tensor, factor] = more.at(7);
    Tensor product = list[0] * list[1];
    EXPECT_FALSE(none.has_value());
    return Result{
        product * tensor * factor, name + text, {{"product", product}}};
  };
  const std::vector<Tensor> list{a, b};
  const std::map<int, std::pair<Tensor, double>> more{{7, {c, 2.0}}};
  Result result = checkpoint(f, list, std::string("na"), more,
                             std::optional<Tensor>(), "me");
  EXPECT_EQ(result.name, "name");
  (result.sum + result.parts["product"]).sum().backward();
  EXPECT_EQ(values(a.grad()), values(b.detach() * (c.detach() * 2.0 + 1.0)));
  EXPECT_EQ(values(c.grad()), values(a.detach() * b.detach() * 2.0));
}

struct Pair {
  Tensor first, second;
};
template <typename Visit>
void visit_tensors(Pair& pair, Visit visit) {
  visit(pair.first);
  visit(pair.second);
}

TEST(Checkpoint, FindsTensorsInTypesOfTheUsers) {
  Pair pair{randn64({8}), randn64({8})};
  const std::int64_t before = autograd::saved_tensor_bytes();
  Tensor y = checkpoint(
      [](const Pair& p) { return sin(p.first) * cos(p.second); }, pair);
  EXPECT_EQ(autograd::saved_tensor_bytes() - before, 128);
  y.sum().backward();
  EXPECT_EQ(values(pair.first.grad()),
            values(cos(pair.first.detach()) * cos(pair.second.detach())));
}

// Item 156.
TEST(Checkpoint, WorksWithGradRestrictedInputsAndWithoutInputsThatNeedGrad) {
  Tensor x = ones64({2, 3}), w = randn64({3, 3}), v = randn64({3, 3});
  auto f = [&](const Tensor& in) { return tanh(matmul(matmul(in, w), v)); };
  const auto plain = gradients({w, v}, [&] { return f(x); });
  EXPECT_EQ(values(autograd::grad({checkpoint(f, x).sum()}, {w})[0]), plain[0]);
  checkpoint(f, x).sum().backward({}, {.inputs = Tensors{v}});
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(values(v.grad()), plain[1]);
}

// Item 157.
TEST(Checkpoint, PartsOfTheFunctionMayGoUnrecorded) {
  Tensor x = leaf({1, 2}, {2});
  auto f = [](const Tensor& in) {
    NoGrad no_grad;
    return sin(in);
  };
  Tensor y = checkpoint([&](const Tensor& in) { return f(in) * exp(in); }, x);
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), values(sin(x.detach()) * exp(x.detach())));
}

// Item 158.
struct SavesB : autograd::Function<SavesB> {
  static inline Tensor seen;
  static Tensor forward(autograd::FunctionContext& context, const Tensor& a,
                        const Tensor& b) {
    context.save_for_backward({b});
    return a * b;
  }
  static Tensors backward(autograd::FunctionContext& context,
                          const Tensors& gradients) {
    seen = context.saved_tensors()[0];
    return {gradients[0] * seen, Tensor()};
  }
};

TEST(Checkpoint, ATensorFromOutsideComesBackAsItself) {
  Tensor a = leaf({1, 2}, {2}), b = constant({3, 4}, {2});
  checkpoint([&](const Tensor& x) { return SavesB::apply(x, b); }, a)
      .sum()
      .backward();
  EXPECT_TRUE(SavesB::seen.is_same(b));
  SavesB::seen = {};
}

// Item 159.
struct Counted : autograd::Function<Counted> {
  static inline int runs = 0;
  static Tensor forward(autograd::FunctionContext&, const Tensor& x) {
    ++runs;
    return x.clone();
  }
  static Tensors backward(autograd::FunctionContext&, const Tensors& g) {
    return {g[0]};
  }
};

TEST(Checkpoint, StopsAsSoonAsAllIsThere) {
  Tensor x = leaf({1, 2}, {2});
  auto f = [](const Tensor& in) { return Counted::apply(cos(sin(in))); };
  const auto runs = [&](const CheckpointOptions& options) {
    Counted::runs = 0;
    checkpoint(f, x, options).sum().backward();
    return Counted::runs;
  };
  EXPECT_EQ(runs({}), 1);
  EXPECT_EQ(runs(kNoEarlyStop), 2);
  CheckpointEarlyStop outer(true);
  EXPECT_EQ(runs(kNoEarlyStop), 1);
  {
    CheckpointEarlyStop inner(false);
    EXPECT_EQ(runs({}), 2);
  }
  EXPECT_EQ(runs(kNoEarlyStop), 1);
}

// Item 161: the second run ends when the product saves its operands. The
// product itself, larger than all other tensors, is not computed.
TEST(Checkpoint, AResultThatNobodyWantsIsNotComputed) {
  Tensor x = ones64({1000, 4}, true), w = ones64({4, 1000}, true);
  Tensor image = ones64({1, 1, 100, 100}, true);
  Tensor filters = ones64({100, 1, 1, 1}, true);
  const auto used_by_backward = [](const Tensor& input, auto f) {
    Tensor y = checkpoint(f, input);
    const Tensor gradient = ones64(y.shape());
    autograd::cpu_allocator().reset_peak();
    const std::int64_t before = autograd::cpu_allocator().stats().current_bytes;
    autograd::grad({y}, {input}, {gradient});
    const auto result = static_cast<std::int64_t>(y.bytes());
    return std::pair(autograd::cpu_allocator().stats().peak_bytes - before,
                     result);
  };
  for (const auto& [used, result] :
       {used_by_backward(x, [&](const Tensor& in) { return matmul(in, w); }),
        used_by_backward(
            x, [&](const Tensor& in) { return linear(in, w.t()); })}) {
    EXPECT_LT(used, result);
  }
  // Backward converts layouts, which takes at most the size of the result.
  const auto [used, result] = used_by_backward(
      image, [&](const Tensor& in) { return conv2d(in, filters, Tensor()); });
  EXPECT_LT(used, 3 * result);
}

// Item 159: the setting is read when forward runs.
TEST(Checkpoint, TheScopeAroundForwardCounts) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y;
  {
    CheckpointEarlyStop off(false);
    Counted::runs = 0;
    y = checkpoint([](const Tensor& in) { return Counted::apply(sin(in)); }, x);
  }
  CheckpointEarlyStop on(true);
  y.sum().backward();
  EXPECT_EQ(Counted::runs, 2);
}

// Item 203.
TEST(Checkpoint, IsNotReentrantUnlessAskedAndDoesNotWarn) {
  std::vector<std::string> warnings;
  const autograd::Warnings collected(
      [&](const std::string& text) { warnings.push_back(text); });
  Tensor x = leaf({1, 2}, {2});
  Tensor y = checkpoint(wave, x);
  EXPECT_STREQ(y.grad_fn()->name(), "SinBackward");
  y.sum().backward();
  EXPECT_THAT(warnings, testing::IsEmpty());
}

// Item 160.
TEST(Checkpoint, WhatSavesNothingIsNotRunAgain) {
  for (const bool early_stop : {true, false}) {
    Tensor x = leaf({1, 2}, {2});
    int runs = 0;
    checkpoint(
        [&](const Tensor& in) {
          ++runs;
          return in.clone();
        },
        x, CheckpointOptions{.early_stop = early_stop})
        .sum()
        .backward();
    EXPECT_EQ(runs, 1);
  }
}

// Item 162.
TEST(Checkpoint, AskedOutsideOfABackwardItRunsEachTime) {
  Tensor x = leaf({1, 2}, {2});
  int runs = 0;
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        ++runs;
        return sin(in);
      },
      x);
  struct Reader : autograd::Node {
    const char* name() const override { return "Reader"; }
    void apply(std::span<Tensor>, std::span<Tensor>) override {}
  };
  // SinBackward's saved tensor is not accessible from outside; a custom
  // function's context is.
  autograd::FunctionContext* context = nullptr;
  struct Keeps : autograd::Function<Keeps> {
    static Tensor forward(autograd::FunctionContext& c, const Tensor& in,
                          autograd::FunctionContext** out) {
      c.save_for_backward({in});
      if (*out == nullptr) *out = &c;
      return in * 2.0;
    }
    static Tensors backward(autograd::FunctionContext& c, const Tensors& g) {
      return {g[0] * c.saved_tensors()[0], Tensor()};
    }
  };
  runs = 0;
  Tensor z = checkpoint(
      [&](const Tensor& in) {
        ++runs;
        return Keeps::apply(sin(in), &context);
      },
      x);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(values(context->saved_tensors()[0]), values(sin(x.detach())));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(values(context->saved_tensors()[0]), values(sin(x.detach())));
  EXPECT_EQ(runs, 3);
  z.sum().backward();
  EXPECT_EQ(runs, 4);
  EXPECT_ERROR(GraphFreedError, "freed", context->saved_tensors());
}

// Item 163.
struct ReadsTwice : autograd::Function<ReadsTwice> {
  static Tensor forward(autograd::FunctionContext& context, const Tensor& x) {
    context.save_for_backward({x});
    return x * 2.0;
  }
  static Tensors backward(autograd::FunctionContext& context,
                          const Tensors& gradients) {
    context.saved_tensors();
    return {gradients[0] * context.saved_tensors()[0]};
  }
};

TEST(Checkpoint, RefusesASecondLookInOneBackward) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = checkpoint(
      [](const Tensor& in) { return ReadsTwice::apply(sin(in)); }, x);
  EXPECT_ERROR(CheckpointError, "already unpacked once", y.sum().backward());
}

// Item 164.
TEST(Checkpoint, MemoryShrinksWhileBackwardRuns) {
  constexpr std::int64_t kElements = 1 << 16;
  const auto profile = [&](bool checkpointed, bool retain) {
    Tensor x = ones64({kElements}, true);
    std::vector<std::int64_t> bytes;
    auto note = [&](const Tensor&) {
      bytes.push_back(autograd::cpu_allocator().stats().current_bytes);
    };
    auto f = [&](const Tensor& in) {
      Tensor y = in;
      for (int i = 0; i < 4; ++i) {
        y = y * y;
        if (i < 3 && !autograd::is_recomputing()) y.register_hook(note);
      }
      return y;
    };
    Tensor y = checkpointed ? checkpoint(f, x) : f(x);
    y.backward(ones64({kElements}), {.retain_graph = retain});
    return bytes;
  };
  for (const auto& bytes : {profile(true, false), profile(true, true)}) {
    ASSERT_EQ(bytes.size(), 3u);
    EXPECT_GT(bytes[0], bytes[1]);
    EXPECT_GT(bytes[1], bytes[2]);
  }
}

// Item 165.
TEST(Checkpoint, IsFreedWithTheGraph) {
  Tensor x = leaf({1, 2}, {2});
  for (const bool backward : {false, true}) {
    auto token = std::make_shared<int>();
    std::weak_ptr<int> alive = token;
    Tensor y = checkpoint(
        [token](const Tensor& in) {
          return checkpoint([token](const Tensor& i) { return wave(i); },
                            sin(in));
        },
        x);
    token.reset();
    EXPECT_FALSE(alive.expired());
    if (backward) y.sum().backward();
    y = {};
    EXPECT_TRUE(alive.expired());
  }
  auto token = std::make_shared<int>();
  std::weak_ptr<int> alive = token;
  {
    Tensor y = checkpoint(
        [token](const Tensor& in) {
          if (autograd::is_recomputing()) throw std::runtime_error("no");
          return sin(in);
        },
        x);
    token.reset();
    EXPECT_ERROR(std::runtime_error, "no", y.sum().backward());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(Checkpoint, LongChainsGoWithoutRecursion) {
  Tensor x = leaf({1, 2}, {2});
  for (const bool backward : {true, false}) {
    Tensor y = x;
    for (int i = 0; i < 20000; ++i) {
      y = checkpoint([](const Tensor& in) { return sin(in); }, y);
    }
    if (backward) y.sum().backward();
  }
  EXPECT_TRUE(x.grad().defined());
}

// A function that differs in the second run.
template <typename First, typename Second>
Tensor differing(const Tensor& x, First first, Second second,
                 const CheckpointOptions& options = {}) {
  return checkpoint(
             [=](const Tensor& in) {
               return autograd::is_recomputing() ? second(in) : first(in);
             },
             x, options)
      .sum();
}

// Item 166.
TEST(Checkpoint, FewerSavedTensorsAreAnError) {
  Tensor x = leaf({1, 2}, {2});
  const auto two = [](const Tensor& in) { return sin(exp(in)); };
  const auto one = [](const Tensor& in) { return exp(in); };
  Tensor y = differing(x, two, one);
  EXPECT_ERROR(CheckpointError,
               "A different number of tensors was saved during the original "
               "forward pass and the recomputation: 2 and 1",
               y.backward());
  y = differing(x, two, one);
  EXPECT_ERROR(CheckpointError, "was saved by SinBackward", y.backward());
}

// Item 167.
TEST(Checkpoint, MoreSavedTensorsAreAnErrorUnlessItStopsBefore) {
  Tensor x = leaf({1, 2}, {2});
  const auto one = [](const Tensor& in) { return exp(in); };
  const auto two = [](const Tensor& in) { return sin(exp(in)); };
  EXPECT_ERROR(CheckpointError,
               "trying to save more tensors during recomputation",
               differing(x, one, two, kNoEarlyStop).backward());
  x.set_grad({});
  differing(x, one, two).backward();
  EXPECT_EQ(values(x.grad()), values(exp(x.detach())));
}

// Item 168.
TEST(Checkpoint, OtherMetadataIsAnErrorThatNamesBothOperations) {
  Tensor x = leaf({1, 2}, {2});
  const auto sine = [](const Tensor& in) { return sin(in); };
  const auto wide = [](const Tensor& in) { return exp(in.expand({3, 2})); };
  const auto single = [](const Tensor& in) {
    return sin(in.to(DType::kF32)).to(DType::kF64);
  };
  EXPECT_ERROR(CheckpointError,
               "have different metadata than those of the forward pass. The "
               "first operation that differs saved tensor 0: in forward "
               "SinBackward saved float64[2], in the recomputation ExpBackward "
               "saved float64[3,2]",
               differing(x, sine, wide).backward());
  EXPECT_ERROR(CheckpointError, "SinBackward saved float32[2]",
               differing(x, sine, single).backward());
  differing(x, sine, wide, {.determinism_check = DeterminismCheck::kNone})
      .backward();
}

// Item 169.
TEST(Checkpoint, DebugTellsTheOperationsOfBothRuns) {
  Tensor x = leaf({1, 2}, {2});
  const auto one = [](const Tensor& in) { return exp(sin(in)); };
  const auto other = [](const Tensor& in) { return exp(tanh(in).sum()); };
  const auto text = [&](const CheckpointOptions& options) {
    try {
      differing(x, one, other, options).backward();
    } catch (const CheckpointError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(text({}), HasSubstr("CheckpointDebug(true) tells"));
  // Without debug, too, the error names the function and the position of its
  // second run.
  EXPECT_THAT(text({}),
              AnyOf(HasSubstr("OperationsOfBothRuns_Test::TestBody()"),
                    HasSubstr("checkpoint_test.cc:")));
  EXPECT_THAT(text({}), HasSubstr("The recomputation was here:\n  at "));
  const std::string debug = text({.debug = true});
  EXPECT_THAT(debug, HasSubstr("Operations of forward:\n0: SinBackward"));
  EXPECT_THAT(debug, HasSubstr("Operations of the recomputation:\n0: Tanh"));
  EXPECT_THAT(debug, HasSubstr("  at "));
  {
    CheckpointDebug on(true);
    EXPECT_THAT(text({}), HasSubstr("Operations of forward"));
    CheckpointDebug unset(std::nullopt);
    EXPECT_THAT(text({}), testing::Not(HasSubstr("Operations of forward")));
  }
  CheckpointDebug off(false);
  EXPECT_THAT(text({.debug = true}),
              testing::Not(HasSubstr("Operations of forward")));
}

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

// Item 176.
TEST(Checkpoint, AnInputThatWasModifiedIsAVersionError) {
  Tensor x = leaf({1, 2}, {2});
  Tensor in = x * 2.0;
  Tensor y = checkpoint([](const Tensor& t) { return sin(t); }, in);
  {
    NoGrad no_grad;
    in.add_(1.0);
  }
  EXPECT_ERROR(VersionError, "modified by an inplace operation",
               y.sum().backward());
}

TEST(Checkpoint, AResultThatIsWrittenOnceItIsSavedIsAVersionError) {
  const auto writes = [](const Tensor& in) {
    const Tensor made = exp(in);
    const Tensor square = made * made;
    made.add_(1.0);
    return exp(square);
  };
  const Tensor y = checkpoint(writes, leaf({1, 2}, {2}));
  EXPECT_ERROR(VersionError, "in place by the checkpointed function",
               y.sum().backward());
}

// Item 163 also holds for operations: each saved tensor is available once.
TEST(Checkpoint, WritingAtIndicesHasBothGradients) {
  const auto f = [](const Tensor& x, const Tensor& value) {
    const Tensor y = x * 2.0;
    y.index_put_({constant({1, 0, 1}, {3}).to(DType::kBool)}, value);
    return y;
  };
  const Tensor x = leaf({1, 2, 3}, {3}), value = leaf({4}, {});
  f(x, value).sum().backward();
  const auto dx = values(x.grad()), dv = values(value.grad());
  x.set_grad({});
  value.set_grad({});
  checkpoint(f, x, value).sum().backward();
  EXPECT_EQ(values(x.grad()), dx);
  EXPECT_EQ(values(value.grad()), dv);
}

TEST(Checkpoint, TheRegionAroundAReentrantOneGuardsWhatThatCaptures) {
  Tensor x = randn64({3}), w = randn64({3});
  const auto inner = [=](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{in[0] * w};
  };
  const Tensor y = checkpoint(
      [=](const Tensor& in) {
        return autograd::checkpoint_reentrant(inner, {in})[0];
      },
      x);
  {
    NoGrad no_grad;
    w.add_(1.0);
  }
  EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
               y.sum().backward());
}

// Item 177.
TEST(Checkpoint, ACapturedTensorThatWasModifiedIsAnError) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor buffer = constant({5, 6}, {2});
  for (Tensor captured : {w, buffer}) {
    // Neither sum saves a tensor.
    Tensor y = checkpoint(
        [&](const Tensor& in) { return sin(in + w) + cos(in + buffer); }, x);
    {
      NoGrad no_grad;
      captured.add_(1.0);
    }
    EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
                 y.sum().backward());
    y = checkpoint(
        [&](const Tensor& in) { return sin(in + w) + cos(in + buffer); }, x);
    EXPECT_NO_THROW(y.sum().backward());
  }
}

// Item 177: also if no gradient flows, and if each run makes its own view.
TEST(Checkpoint, ACapturedTensorIsKnownByItsMemory) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [&](const Tensor& in) { return sin(in + w.detach()); },
      [&](const Tensor& in) { return sin(where(gt(w, 0.0), in, -in)); },
      [&](const Tensor& in) { return sin(where(lt(w, in), in, -in)); },
      [&](const Tensor& in) { return sin(in * w.detach().narrow(0, 1, 1)); }};
  for (const auto& f : functions) {
    Tensor y = checkpoint(f, x);
    {
      NoGrad no_grad;
      w.add_(1.0);
    }
    EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
                 y.sum().backward());
    EXPECT_NO_THROW(checkpoint(f, x).sum().backward());
  }
}

TEST(Checkpoint, RunningStatisticsAreCaptured) {
  Tensor x = randn64({3, 2});
  const Tensor mean = constant({0, 0}, {2}), variance = constant({1, 1}, {2});
  const auto f = [&](const Tensor& in) {
    return batch_norm(in, mean, variance, {}, {});
  };
  const Tensor y = checkpoint(f, x);
  variance.fill_(4.0);
  EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
               y.sum().backward());
}

TEST(Checkpoint, ACapturedTensorThatTheFunctionWritesItselfIsAnError) {
  Tensor x = leaf({1, 2}, {2}), sums = constant({0, 0}, {2});
  const auto f = [&](const Tensor& in) {
    NoGrad no_grad;
    sums.add_(in);
    EnableGrad grad;
    return sin(in * sums);
  };
  EXPECT_ERROR(CheckpointError, "was modified in place",
               checkpoint(f, x).sum().backward());
}

TEST(Checkpoint, WhatTheFunctionWritesOnceOnPurposeIsNone) {
  Tensor x = leaf({1, 2}, {2}), sums = constant({0, 0}, {2});
  const auto f = [&](const Tensor& in) {
    if (!autograd::is_recomputing()) {
      NoGrad no_grad;
      sums.add_(in);
    }
    return sin(in);
  };
  checkpoint(f, x).sum().backward();
  EXPECT_EQ(values(sums), values(x.detach()));
}

// A region captures the tensors that its inner regions capture.
TEST(Checkpoint, ATensorCapturedWithinIsCapturedAround) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        return checkpoint([&](const Tensor& t) { return (t + w).clone(); },
                          sin(in));
      },
      x);
  // The inner region saves no tensor and is never replayed.
  {
    NoGrad no_grad;
    w.add_(1.0);
  }
  EXPECT_ERROR(CheckpointError, "captured",
               checkpoint(
                   [&](const Tensor& in) {
                     Tensor made = checkpoint(
                         [&](const Tensor& t) { return (t + w).clone(); },
                         sin(in));
                     if (!autograd::is_recomputing()) {
                       NoGrad no_grad;
                       w.add_(1.0);
                     }
                     return sin(made);
                   },
                   x)
                   .sum()
                   .backward());
}

// Item 178.
TEST(Checkpoint, ChecksumsFindOtherValues) {
  Tensor x = leaf({1, 2}, {2});
  const auto f = [](const Tensor& in) {
    return sin(in * (autograd::is_recomputing() ? 2.0 : 3.0));
  };
  EXPECT_NO_THROW(checkpoint(f, x).sum().backward());
  EXPECT_ERROR(CheckpointError, "The first tensor that differs is number 0",
               checkpoint(f, x,
                          CheckpointOptions{.determinism_check =
                                                DeterminismCheck::kChecksum})
                   .sum()
                   .backward());
  const auto random = [](const Tensor& in) { return sin(dropout(in, 0.5)); };
  Tensor wide = ones64({1000}, true);
  EXPECT_ERROR(CheckpointError, "saved by",
               checkpoint(random, wide,
                          CheckpointOptions{
                              .preserve_rng_state = false,
                              .determinism_check = DeterminismCheck::kChecksum})
                   .sum()
                   .backward());
}

// Item 179. Its BatchNorm part is in test/nn.
TEST(Checkpoint, SaysWhenItRecomputes) {
  Tensor x = leaf({1, 2}, {2});
  std::vector<bool> said;
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        said.push_back(autograd::is_recomputing());
        return sin(in);
      },
      x);
  y.sum().backward();
  EXPECT_EQ(said, (std::vector<bool>{false, true}));
  EXPECT_FALSE(autograd::is_recomputing());
}

// Item 180.
TEST(Checkpoint, WhereNothingIsRecordedItIsACall) {
  Tensor x = leaf({1, 2}, {2});
  int runs = 0;
  NoGrad no_grad;
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        ++runs;
        return sin(in);
      },
      x);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(runs, 1);
}

// Item 181.
TEST(Checkpoint, ExceptionsOfEitherRunLeaveEverythingAsItWas) {
  Tensor x = leaf({1, 2}, {2});
  manual_seed(7);
  const auto f = [](bool again) {
    return [again](const Tensor& in) {
      Tensor y = sin(dropout(in, 0.5));
      if (autograd::is_recomputing() == again) throw std::runtime_error("oh");
      return y * y;
    };
  };
  const auto balanced = [&] {
    EXPECT_TRUE(is_grad_enabled());
    EXPECT_FALSE(autograd::is_recomputing());
    EXPECT_FALSE(autograd::is_autocast_active());
    EXPECT_EQ(autograd::graph_state.saved_tensor_keeper, nullptr);
    EXPECT_EQ(autograd::graph_state.operation_observer, nullptr);
    EXPECT_FALSE(autograd::graph_state.in_operation);
  };
  EXPECT_ERROR(std::runtime_error, "oh", checkpoint(f(false), x));
  balanced();
  // Also from within an operation, and from a policy.
  const CheckpointOptions fails{
      .policy = [](const CheckpointedOperation&) -> bool {
        throw std::runtime_error("oh");
      }};
  EXPECT_ERROR(std::runtime_error, "oh", checkpoint(wave, x, fails));
  balanced();
  EXPECT_ERROR(
      InvalidArgument, "matmul",
      checkpoint([](const Tensor& in) { return matmul(in, ones64({3})); }, x,
                 CheckpointOptions{.policy = {"matmul"}}));
  balanced();
  Tensor y = checkpoint(f(true), x);
  const auto state = autograd::default_generator().state();
  EXPECT_ERROR(std::runtime_error, "oh", y.sum().backward());
  balanced();
  EXPECT_EQ(autograd::default_generator().state(), state);
  x.set_grad({});
  checkpoint([](const Tensor& in) { return sin(in); }, x).sum().backward();
  EXPECT_EQ(values(x.grad()), values(cos(x.detach())));
}

// Item 183.
TEST(Checkpoint, BackwardMayRunOnAnotherThread) {
  Tensor x = leaf({1, 2}, {2});
  auto f = [](const Tensor& in) { return sin(dropout(exp(in), 0.5)); };
  manual_seed(3);
  const auto plain = gradients({x}, [&] { return f(x); })[0];
  manual_seed(3);
  Tensor y = checkpoint(f, x).sum();
  std::thread([&] { y.backward(); }).join();
  EXPECT_EQ(values(x.grad()), plain);
}

TEST(Checkpoint, SeveralThreadsMayRunBackwardThroughOneGraph) {
  Tensor x = randn64({32, 32}), w = randn64({32, 32});
  auto f = [&](const Tensor& in) {
    return tanh(matmul(tanh(matmul(in, w)), w));
  };
  const auto plain = gradients({x}, [&] { return f(f(x)); })[0];
  Tensor y = checkpoint(f, checkpoint(f, x)).sum();
  std::vector<std::vector<double>> got(4);
  std::vector<std::thread> threads;
  for (auto& result : got) {
    threads.emplace_back([&] {
      result = values(autograd::grad({y}, {x}, {}, {.retain_graph = true})[0]);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : got) EXPECT_EQ(result, plain);
}

// Items 143, 149 for the non-reentrant kind.
TEST(Checkpoint, OfSeveralResultsEachIsItself) {
  Tensor x = leaf({1, 2}, {2});
  auto [a, b, text] = checkpoint(
      [](const Tensor& in) {
        return std::tuple(sin(in), in.detach(), std::string("text"));
      },
      x);
  EXPECT_TRUE(a.requires_grad());
  EXPECT_FALSE(b.requires_grad());
  EXPECT_EQ(text, "text");
  (a * b).sum().backward();
  EXPECT_EQ(values(x.grad()), values(cos(x.detach()) * x.detach()));
}

// Items 149, 150.
TEST(Checkpoint, TheReentrantKindIsThereForThoseWhoAsk) {
  Tensor x = leaf({0.3, 0.7}, {2});
  int runs = 0;
  auto f = [&](const Tensor& in, double factor, const char* text) {
    ++runs;
    return std::tuple(wave(in) * factor, std::string(text), sin(in));
  };
  const CheckpointOptions reentrant{.use_reentrant = true};
  auto [y, text, z] = checkpoint(f, x, 2.0, "bar", reentrant);
  EXPECT_EQ(text, "bar");
  (y + z).sum().backward();
  EXPECT_EQ(runs, 2);
  const auto got = values(x.grad());
  x.set_grad({});
  (wave(x) * 2.0 + sin(x)).sum().backward();
  EXPECT_EQ(got, values(x.grad()));
  EXPECT_ERROR(
      InvalidArgument, "only supported when use_reentrant = false",
      checkpoint(f, x, 2.0, "bar",
                 CheckpointOptions{.debug = true, .use_reentrant = true}));
}

// The region ignores tensors that another keeper packs.
TEST(Checkpoint, HooksOutsideSeeTheInputsOnly) {
  Tensor x = leaf({1, 2}, {2});
  Tensor in = x * 2.0;
  int packed = 0;
  {
    autograd::SavedTensorHooks::Scope hooks(
        [&](const Tensor& t) {
          ++packed;
          return std::any(t.detach().clone());
        },
        [](const std::any& a) { return std::any_cast<Tensor>(a); });
    checkpoint([](const Tensor& t) { return wave(t); }, in).sum().backward();
  }
  EXPECT_EQ(packed, 1);
  EXPECT_EQ(values(x.grad()),
            values(autograd::grad({wave(x * 2.0).sum()}, {x})[0]));
}

// Second derivatives work through hooks.
TEST(SavedTensorHooks, WhatTheyReturnHasTheHistoryOfWhatWasSaved) {
  Tensor x = leaf({0.3, 0.7}, {2});
  const auto second = [&] {
    const Tensor y = sin(exp(x)).sum();
    const Tensor dx = autograd::grad({y}, {x}, {}, {.create_graph = true})[0];
    return values(autograd::grad({dx.sum()}, {x})[0]);
  };
  const auto plain = second();
  autograd::SavedTensorHooks::Scope hooks(
      [](const Tensor& t) { return std::any(t.detach().clone()); },
      [](const std::any& a) { return std::any_cast<Tensor>(a); });
  EXPECT_EQ(second(), plain);
}

}  // namespace
}  // namespace hvd
