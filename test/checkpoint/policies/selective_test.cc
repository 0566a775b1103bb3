// SPDX-License-Identifier: Apache-2.0
// Section 1N of the contract: selective checkpointing.
#include "horovodpp/checkpoint/policies/policy.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/record/effects.h"
#include "horovodpp/autograd/record/function.h"
#include "horovodpp/checkpoint/budgets/memory_budget.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::CheckpointError;
using Tensors = std::vector<Tensor>;

// Counts the operations that compute on this thread while it lives.
class Operations final : public autograd::OperationObserver {
 public:
  Operations() : scope_(this) {
    follows_results_ = true;
    follows_recomputations_ = true;
  }
  void reads(const Tensor& /*tensor*/) override {}
  void records(const autograd::Node& /*node*/) override {}
  bool recalls(const char* operation,
               autograd::OperationResults& /*results*/) override {
    ++count_[operation];
    return false;
  }
  void made(const char* /*operation*/,
            const autograd::OperationResults& /*results*/) override {}
  void named(const Tensor& /*tensor*/, std::string_view /*name*/) override {}
  int operator[](const std::string& operation) { return count_[operation]; }

 private:
  std::map<std::string, int> count_;
  Scope scope_;
};

std::int64_t bytes_in_use() {
  return autograd::cpu_allocator().stats().current_bytes;
}

// The gradient of f(x), and the number of times each operation computed in
// backward.
template <typename F>
std::vector<double> gradient(const Tensor& x, F f,
                             std::unique_ptr<Operations>* operations) {
  operations->reset();
  x.set_grad({});
  const Tensor y = f(x).sum();
  *operations = std::make_unique<Operations>();
  y.backward();
  std::vector<double> result = values(x.grad());
  x.set_grad({});
  return result;
}

CheckpointPolicy save_matmul(const CheckpointedOperation& operation) {
  return operation.operation == "matmul" ? CheckpointPolicy::kMustSave
                                         : CheckpointPolicy::kPreferRecompute;
}

// Item 192.
TEST(Selective, KeptResultsAreNotRecomputed) {
  const Tensor x = randn({512, 512}, {.requires_grad = true});
  const Tensor y = randn({512, 512}, {.requires_grad = true});
  constexpr std::int64_t kMiB = 1 << 20;
  const auto f = [&](const Tensor& in) { return sum(sin(matmul(cos(in), y))); };
  const auto costs = [&](const std::function<Tensor()>& forward) {
    x.set_grad({});
    y.set_grad({});
    const std::int64_t before = bytes_in_use();
    const Tensor loss = forward();
    const std::int64_t kept = bytes_in_use() - before - 4;
    Operations operations;
    loss.backward();
    std::vector<float> found = x.grad().to_vector<float>();
    const std::vector<float> more = y.grad().to_vector<float>();
    found.insert(found.end(), more.begin(), more.end());
    return std::tuple(kept / kMiB, operations["matmul"], found);
  };
  const auto with = [&](const SelectivePolicy& policy) {
    return costs(
        [&] { return checkpoint(f, x, CheckpointOptions{.policy = policy}); });
  };
  const auto plain = costs([&] { return f(x); });
  const auto& expected = std::get<2>(plain);
  EXPECT_EQ(plain, std::tuple(2, 2, expected));
  EXPECT_EQ(with({}), std::tuple(0, 3, expected));
  EXPECT_EQ(with({"matmul"}), std::tuple(1, 2, expected));
  EXPECT_EQ(with(save_matmul), std::tuple(1, 2, expected));
  EXPECT_EQ(with([](const CheckpointedOperation& operation) {
              return operation.operation == "matmul";
            }),
            std::tuple(1, 2, expected));
}

// Item 193.
TEST(Selective, AListNamesOperationsThatExist) {
  EXPECT_ERROR(InvalidArgument, "no operation 'matmull'",
               SelectivePolicy({"matmul", "matmull"}));
  EXPECT_ERROR(InvalidArgument, "operation_of<F>()",
               SelectivePolicy::operations({"Cube"}));
  EXPECT_EQ(OperationId("conv2d").name(), "conv2d");
}

// Item 193.
TEST(Selective, APolicyIsAskedInForwardOnly) {
  const Tensor x = randn64({4, 4});
  std::vector<std::string> asked;
  const CheckpointOptions options{
      .policy = [&](const CheckpointedOperation& operation) {
        EXPECT_EQ(operation.position, asked.size());
        EXPECT_EQ(operation.result.shape(), autograd::Dims({4, 4}));
        asked.emplace_back(operation.operation);
        return operation.operation == "exp";
      }};
  const Tensor y = checkpoint(
      [](const Tensor& in) { return sin(exp(matmul(in, in))); }, x, options);
  const std::vector<std::string> all{"matmul", "exp", "sin"};
  EXPECT_EQ(asked, all);
  y.sum().backward();
  EXPECT_EQ(asked, all);
}

// Item 193.
TEST(Selective, AResultIsKeptByItsName) {
  const Tensor x = randn64({4, 6, 8}), w = randn64({8, 8});
  std::unique_ptr<Operations> operations;
  const auto f = [&](const Tensor& in) {
    // A matrix product, viewed with three dimensions.
    const Tensor out = checkpoint_name(linear(in, w), "out");
    checkpoint_name(in, "not a result");
    return sin(checkpoint_name(exp(out), "power")) * out;
  };
  const auto plain = gradient(x, f, &operations);
  const auto with = [&](const SelectivePolicy& policy) {
    return gradient(
        x,
        [&](const Tensor& in) {
          return checkpoint(f, in, CheckpointOptions{.policy = policy});
        },
        &operations);
  };
  EXPECT_EQ(with(SelectivePolicy::names({"other", "not a result"})), plain);
  EXPECT_EQ((*operations)["linear"], 1);
  EXPECT_EQ((*operations)["exp"], 1);
  EXPECT_EQ(with(SelectivePolicy::names({"out"})), plain);
  EXPECT_EQ((*operations)["linear"], 0);
  EXPECT_EQ((*operations)["exp"], 1);
  EXPECT_EQ(with(SelectivePolicy::names({"out", "power"})), plain);
  EXPECT_EQ((*operations)["linear"], 0);
  EXPECT_EQ((*operations)["exp"], 0);
  // A name may also forbid a result that its operation allows.
  const auto but_for = [](const CheckpointedOperation& operation) {
    return operation.name == "power" ? CheckpointPolicy::kMustRecompute
                                     : CheckpointPolicy::kMustSave;
  };
  EXPECT_EQ(with(but_for), plain);
  EXPECT_EQ((*operations)["linear"], 0);
  EXPECT_EQ((*operations)["exp"], 1);
}

TEST(Selective, ANameOutsideACheckpointHasNoEffect) {
  const Tensor x = randn64({2});
  EXPECT_TRUE(checkpoint_name(x, "x").is_same(x));
  EXPECT_ERROR(InvalidArgument, "checkpoint_name",
               checkpoint_name(Tensor(), "x"));
}

TEST(Selective, ANameComesRightAfterItsOperation) {
  const Tensor x = randn64({4});
  const CheckpointOptions options{.policy = SelectivePolicy::names({"early"})};
  EXPECT_ERROR(CheckpointError, "'early'",
               checkpoint(
                   [](const Tensor& in) {
                     const Tensor early = exp(in);
                     const Tensor late = sin(early);
                     checkpoint_name(early, "early");
                     return late;
                   },
                   x, options));
}

// Item 193.
TEST(Selective, MovesResultsToAPool) {
  const Tensor x = randn64({1024});
  std::unique_ptr<Operations> operations;
  const auto f = [](const Tensor& in) { return sin(exp(sin(in))); };
  const auto plain = gradient(x, f, &operations);
  const auto with = [&](CheckpointPolicy policy, OffloadPool& pool) {
    return gradient(
        x,
        [&](const Tensor& in) {
          return checkpoint(
              f, in,
              CheckpointOptions{
                  .policy = SelectivePolicy::operations({"exp", "sin"}, policy),
                  .offload_pool = &pool});
        },
        &operations);
  };
  OffloadPool roomy;
  EXPECT_EQ(with(CheckpointPolicy::kMustOffload, roomy), plain);
  EXPECT_EQ((*operations)["exp"], 0);
  EXPECT_EQ(roomy.stats().stored, 3);
  EXPECT_EQ(roomy.stats().bytes, 0);
  OffloadPool for_one({.bytes = 8192});
  EXPECT_EQ(with(CheckpointPolicy::kPreferOffload, for_one), plain);
  EXPECT_EQ(for_one.stats().peak_bytes, 8192);
  EXPECT_EQ((*operations)["sin"], 0);
  EXPECT_EQ((*operations)["exp"], 1);
  EXPECT_ERROR(Error, "8192 of 8192 bytes are in use",
               with(CheckpointPolicy::kMustOffload, for_one));
  EXPECT_EQ(for_one.stats().bytes, 0);
}

// Item 194.
TEST(Selective, AWriteToAKeptResultIsAnError) {
  const Tensor x = randn64({4});
  int runs = 0;
  const auto f = [&](const Tensor& in) {
    ++runs;
    Tensor y = sin(in);
    y.mul_(3.0);
    return cos(y);
  };
  std::unique_ptr<Operations> operations;
  const auto plain = gradient(x, f, &operations);
  CheckpointOptions options{.policy = {"sin"}};
  EXPECT_ERROR(CheckpointError, "has been mutated since: version 0 → 1",
               checkpoint(f, x, options).sum().backward());
  options.keep_copies = true;
  runs = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        gradient(
            x, [&](const Tensor& in) { return checkpoint(f, in, options); },
            &operations),
        plain);
    EXPECT_EQ((*operations)["sin"], 0);  // It is kept.
  }
  EXPECT_EQ(runs, 4);
}

// Item 195.
TEST(Selective, ASecondBackwardUsesKeptResults) {
  const Tensor x = randn64({4, 4});
  for (const bool copies : {false, true}) {
    const auto f = [&](const Tensor& in) {
      Tensor y = matmul(in, in);
      if (copies) y.mul_(2.0);
      return sin(y);
    };
    const Tensor loss = checkpoint(f, x,
                                   CheckpointOptions{.policy = {"matmul"},
                                                     .keep_copies = copies})
                            .sum();
    const auto first =
        autograd::grad({loss}, {x}, {}, {.retain_graph = true})[0];
    Operations operations;
    const auto second =
        autograd::grad({loss}, {x}, {}, {.retain_graph = true})[0];
    EXPECT_EQ(operations["matmul"], 2);  // For the gradients.
    loss.backward();
    EXPECT_EQ(operations["matmul"], 4);
    EXPECT_EQ(values(first), values(second));
    EXPECT_EQ(values(first), values(x.grad()));
    x.set_grad({});
    EXPECT_ERROR(autograd::GraphFreedError, "second time", loss.backward());
  }
}

struct Scaled : autograd::Function<Scaled> {
  static inline int runs = 0;
  static Tensors forward(autograd::FunctionContext& context, const Tensor& x,
                         double factor) {
    ++runs;
    const Tensor twice = x * 2.0;
    context.save_for_backward({x, twice});
    context.saved_data["factor"] = factor;
    const Tensor flags = gt(x, 0.0);
    context.mark_non_differentiable({flags});
    return {twice * factor, flags};
  }
  static Tensors backward(autograd::FunctionContext& context,
                          const Tensors& gradients) {
    const Tensors saved = context.saved_tensors();
    const auto factor = std::any_cast<double>(context.saved_data["factor"]);
    return {gradients[0] * (2.0 * factor) + 0.0 * saved[0] + 0.0 * saved[1],
            Tensor()};
  }
};

// Item 196.
TEST(Selective, ACustomFunctionRunsOnce) {
  const Tensor x = randn64({4});
  std::unique_ptr<Operations> operations;
  const auto f = [](const Tensor& in) {
    const Tensors made = Scaled::apply(sin(in), 3.0);
    return sin(where(made[1], made[0], 0.5));
  };
  Scaled::runs = 0;
  const auto plain = gradient(x, f, &operations);
  EXPECT_EQ(Scaled::runs, 1);
  const auto with = [&](const SelectivePolicy& policy) {
    Scaled::runs = 0;
    const auto result = gradient(
        x,
        [&](const Tensor& in) {
          return checkpoint(f, in, CheckpointOptions{.policy = policy});
        },
        &operations);
    EXPECT_EQ(result, plain);
    return Scaled::runs;
  };
  EXPECT_EQ(with({}), 2);
  EXPECT_EQ(with({operation_of<Scaled>()}), 1);
}

// Item 196.
TEST(Selective, SeveralResultsAreKeptTogether) {
  Tensor x = randn64({8, 16}), w = randn64({16}), b = randn64({16});
  const Tensor images = randn64({2, 3, 6, 6});
  std::unique_ptr<Operations> operations;
  const auto norm = [&](const Tensor& in) {
    return sin(layer_norm(sin(in), {16}, w, b, 1e-5));
  };
  const auto pool = [&](const Tensor& in) {
    return sin(max_pool2d(sin(in), {.kernel = 2}));
  };
  const auto largest = [&](const Tensor& in) {
    return sin(max(sin(in), 1).values);
  };
  const auto check = [&](const Tensor& in, const auto& f, const char* name) {
    const auto plain = gradient(in, f, &operations);
    EXPECT_EQ(gradient(
                  in,
                  [&](const Tensor& t) {
                    return checkpoint(f, t,
                                      CheckpointOptions{.policy = {name}});
                  },
                  &operations),
              plain);
    EXPECT_EQ((*operations)[name], 0) << name;
  };
  check(x, norm, "layer_norm");
  check(images, pool, "max_pool2d");
  check(x, largest, "max");
}

// Item 196.
TEST(Selective, KeptResultsAreFreedWithTheGraphOrAfterUse) {
  const std::int64_t before = bytes_in_use();
  {
    const Tensor x = randn64({1000});
    const auto f = [](const Tensor& in) { return sin(exp(sin(in))); };
    const CheckpointOptions options{.policy = {"exp"}};
    const std::int64_t with_x = bytes_in_use();
    {
      const Tensor y = checkpoint(f, x, options).sum();
      EXPECT_EQ(bytes_in_use() - with_x, 8000 + 8);
    }
    EXPECT_EQ(bytes_in_use(), with_x);
    Tensor y = checkpoint(f, x, options).sum();
    autograd::grad({y}, {x});
    EXPECT_EQ(bytes_in_use(), with_x + 8);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

// Item 196.
TEST(Selective, AThrowingFunctionFreesKeptResults) {
  const std::int64_t before = bytes_in_use();
  {
    const Tensor x = randn64({1000});
    EXPECT_ERROR(std::runtime_error, "no",
                 checkpoint(
                     [](const Tensor& in) -> Tensor {
                       exp(sin(in));
                       throw std::runtime_error("no");
                     },
                     x, CheckpointOptions{.policy = {"exp"}}));
  }
  EXPECT_EQ(bytes_in_use(), before);
}

// The function may handle the error as it likes.
TEST(Selective, AnOperationThatFailsHasItsPlace) {
  const Tensor x = randn64({4}), wrong = randn64({3, 3});
  const auto f = [&](const Tensor& in) {
    const Tensor y = sin(in);
    try {
      exp(matmul(in, wrong));
    } catch (const InvalidArgument&) {
    }
    return exp(y) * matmul(in, in);
  };
  std::unique_ptr<Operations> operations;
  const auto plain = gradient(x, f, &operations);
  const auto selective = [&](const Tensor& in) {
    return checkpoint(f, in, CheckpointOptions{.policy = {"matmul"}});
  };
  EXPECT_EQ(gradient(x, selective, &operations), plain);
}

// Item 197.
TEST(Selective, OtherOperationsAreNamedWithTheirPlace) {
  const Tensor x = randn64({4});
  int runs = 0;
  const CheckpointOptions options{.early_stop = false, .policy = {"exp"}};
  EXPECT_ERROR(CheckpointError,
               "number 1: in forward exp, in the recomputation tanh",
               checkpoint(
                   [&](const Tensor& in) {
                     const Tensor y = sin(in);
                     return ++runs == 1 ? exp(y) : tanh(y);
                   },
                   x, options)
                   .sum()
                   .backward());
  runs = 0;
  EXPECT_ERROR(CheckpointError,
               "number 2: in forward there was none, in the recomputation cos",
               checkpoint(
                   [&](const Tensor& in) {
                     const Tensor y = exp(sin(in));
                     NoGrad no_grad;
                     if (++runs > 1) cos(y);
                     return y;
                   },
                   x, options)
                   .sum()
                   .backward());
}

// Effects and casts that autocast has cached are not operations of the
// function.
TEST(Selective, EffectsAndCastsAreNoOperations) {
  const Tensor x = randn({4, 4}, {.requires_grad = true});
  const Tensor w = randn({4, 4}, {.requires_grad = true});
  const auto f = [&](const Tensor& in) {
    const double largest =
        run_once([&] { return max(in.detach()).item<float>(); });
    return sin(matmul(matmul(in, w), w)) * largest;
  };
  Autocast autocast(DType::kBF16);
  const auto run = [&](const CheckpointOptions& options) {
    x.set_grad({});
    w.set_grad({});
    matmul(x, w);  // Casts w, outside.
    checkpoint(f, x, options).sum().backward();
    return std::pair(x.grad().to_vector<float>(), w.grad().to_vector<float>());
  };
  EXPECT_EQ(run({}), run({.policy = {"matmul"}}));
}

struct AddsNoise : autograd::Function<AddsNoise> {
  static Tensor forward(autograd::FunctionContext& /*context*/,
                        const Tensor& x) {
    return x + randn(x.shape(), {.dtype = DType::kF64});
  }
  static Tensors backward(autograd::FunctionContext& /*context*/,
                          const Tensors& gradients) {
    return {gradients[0]};
  }
};

TEST(Selective, SkippedOperationsAdvanceTheGenerator) {
  const Tensor x = randn64({64});
  std::unique_ptr<Operations> operations;
  const auto f = [](const Tensor& in) {
    return sin(dropout(AddsNoise::apply(dropout(sin(in), 0.5)), 0.5));
  };
  const auto run = [&](const std::optional<SelectivePolicy>& policy) {
    manual_seed(3);
    const auto result = gradient(
        x,
        [&](const Tensor& in) {
          return policy
                     ? checkpoint(f, in, CheckpointOptions{.policy = *policy})
                     : f(in);
        },
        &operations);
    return std::pair(result, autograd::default_generator().state());
  };
  const auto plain = run(std::nullopt);
  EXPECT_EQ(run(SelectivePolicy()), plain);
  EXPECT_EQ(run(SelectivePolicy{operation_of<AddsNoise>()}), plain);
  EXPECT_EQ(run(SelectivePolicy{"dropout"}), plain);
  EXPECT_EQ(run(SelectivePolicy{"dropout", operation_of<AddsNoise>()}), plain);
}

TEST(Selective, RegionsWithinRegionsKeepForEachOther) {
  const Tensor x = randn64({6, 6});
  std::unique_ptr<Operations> operations;
  const auto inner = [](const Tensor& in) { return sin(matmul(in, in)); };
  const auto plain = gradient(
      x, [&](const Tensor& in) { return inner(inner(in)); }, &operations);
  const SelectivePolicy none, saves{"matmul"};
  const auto matmuls = [&](const SelectivePolicy& around,
                           const SelectivePolicy& within) {
    const auto outer = [&](const Tensor& in) {
      const CheckpointOptions options{.policy = within};
      return checkpoint(inner, checkpoint(inner, in, options), options);
    };
    EXPECT_EQ(gradient(
                  x,
                  [&](const Tensor& in) {
                    return checkpoint(outer, in,
                                      CheckpointOptions{.policy = around});
                  },
                  &operations),
              plain);
    return (*operations)["matmul"] - 4;  // Without the gradients' bytes.
  };
  // The outer region recomputes the first product for the input of the second
  // region. Each inner region recomputes its own product.
  EXPECT_EQ(matmuls(none, none), 3);
  EXPECT_EQ(matmuls(none, saves), 1);
  EXPECT_EQ(matmuls(saves, none), 2);
  EXPECT_EQ(matmuls(saves, saves), 0);
}

// Item 193.
TEST(Selective, AMemoryBudgetDropsOnlyPreferredResults) {
  const Tensor x = randn64({1 << 12});
  std::unique_ptr<Operations> operations;
  const auto f = [](const Tensor& in) { return sin(exp(sin(in))); };
  const auto exps = [&](CheckpointPolicy policy, std::int64_t bytes) {
    MemoryBudget budget(bytes);
    gradient(
        x,
        [&](const Tensor& in) {
          return checkpoint(
              f, in,
              CheckpointOptions{
                  .policy = SelectivePolicy::operations({"exp"}, policy)});
        },
        &operations);
    return (*operations)["exp"];
  };
  constexpr std::int64_t kRoomy = 1 << 30, kNone = 0;
  EXPECT_EQ(exps(CheckpointPolicy::kPreferSave, kRoomy), 0);
  EXPECT_EQ(exps(CheckpointPolicy::kPreferSave, kNone), 1);
  EXPECT_EQ(exps(CheckpointPolicy::kMustSave, kNone), 0);
  EXPECT_EQ(exps(CheckpointPolicy::kPreferRecompute, kRoomy), 0);
  EXPECT_EQ(exps(CheckpointPolicy::kMustRecompute, kRoomy), 1);
}

TEST(Selective, WorksWithBackwardWithinTheFunction) {
  const Tensor x = randn64({4, 4});
  std::unique_ptr<Operations> operations;
  const auto f = [](const Tensor& in) {
    Tensor inside = in.detach();
    inside.set_requires_grad(true);
    const Tensor slope =
        autograd::grad({sin(matmul(inside, inside)).sum()}, {inside})[0];
    return matmul(in, slope);
  };
  const auto plain = gradient(x, f, &operations);
  for (const SelectivePolicy& policy :
       {SelectivePolicy{"matmul"}, SelectivePolicy{"sin", "cos", "mul"}}) {
    EXPECT_EQ(gradient(
                  x,
                  [&](const Tensor& in) {
                    return checkpoint(f, in,
                                      CheckpointOptions{.policy = policy});
                  },
                  &operations),
              plain);
  }
}

// Item 170.
struct Entered {
  Entered(std::vector<std::string>& events, std::string name)
      : log(events), what(std::move(name)) {
    log.push_back("begin " + what);
  }
  ~Entered() { log.push_back("end " + what); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  std::vector<std::string>& log;
  const std::string what;
};

TEST(Selective, ContextsAreEnteredAroundEachRun) {
  const Tensor x = randn64({4});
  std::vector<std::string> log;
  const CheckpointOptions options{
      .forward_context =
          [&] { return std::make_shared<Entered>(log, "forward"); },
      .recompute_context =
          [&] { return std::make_shared<Entered>(log, "recomputation"); }};
  bool throws = false;
  const auto f = [&](const Tensor& in) {
    log.emplace_back("run");
    if (throws) throw std::runtime_error("no");
    return sin(exp(in));
  };
  Tensor y = checkpoint(f, x, options).sum();
  using Log = std::vector<std::string>;
  EXPECT_EQ(std::exchange(log, {}),
            Log({"begin forward", "run", "end forward"}));
  y.backward();
  EXPECT_EQ(std::exchange(log, {}),
            Log({"begin recomputation", "run", "end recomputation"}));
  y = checkpoint(f, x, options).sum();
  log.clear();
  throws = true;
  EXPECT_ERROR(std::runtime_error, "no", y.backward());
  EXPECT_EQ(std::exchange(log, {}),
            Log({"begin recomputation", "run", "end recomputation"}));
  EXPECT_ERROR(std::runtime_error, "no", checkpoint(f, x, options));
  EXPECT_EQ(log, Log({"begin forward", "run", "end forward"}));
}

// Item 170.
TEST(Selective, TheReentrantKindHasNeitherPolicyNorContexts) {
  const Tensor x = randn64({4});
  const auto f = [](const Tensor& in) { return sin(in); };
  const auto no_context = [] { return std::shared_ptr<void>(); };
  EXPECT_ERROR(
      InvalidArgument, "a policy is only supported when",
      checkpoint(f, x,
                 CheckpointOptions{.policy = {"sin"}, .use_reentrant = true}));
  EXPECT_ERROR(InvalidArgument, "forward_context is only supported when",
               checkpoint(f, x,
                          CheckpointOptions{.forward_context = no_context,
                                            .use_reentrant = true}));
  EXPECT_ERROR(InvalidArgument, "recompute_context is only supported when",
               checkpoint(f, x,
                          CheckpointOptions{.recompute_context = no_context,
                                            .use_reentrant = true}));
}

}  // namespace
}  // namespace hvd
