// SPDX-License-Identifier: Apache-2.0
// Section 1L of the contract: the non-reentrant checkpoint.
#include "horovodpp/checkpoint/checkpoint.h"

#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "test/checkpoint/regions.h"

namespace hvd {
namespace {

using autograd::CheckpointError;
using autograd::GraphFreedError;

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
TEST(Checkpoint, TakesAndReturnsContainersAndOtherValues) {
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

TEST(Checkpoint, StopsOnceAllSavedTensorsAreRecomputed) {
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
TEST(Checkpoint, SkipsAnUnusedResult) {
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
TEST(Checkpoint, AFunctionWithoutSavedTensorsIsNotRunAgain) {
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
  constexpr std::int64_t kLength = 1 << 16;
  const auto profile = [&](bool checkpointed, bool retain) {
    Tensor x = ones64({kLength}, true);
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
    y.backward(ones64({kLength}), {.retain_graph = retain});
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
TEST(Checkpoint, IsAPlainCallWithoutRecording) {
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
TEST(Checkpoint, ExceptionsOfEitherRunRestoreTheState) {
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
    EXPECT_EQ(autograd::graph_state.saved_tensor_store, nullptr);
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
TEST(Checkpoint, OffersReentrantRegions) {
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

// The region ignores tensors that another store packs.
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
TEST(SavedTensorHooks, UnpackedTensorsHaveTheHistoryOfSavedOnes) {
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
