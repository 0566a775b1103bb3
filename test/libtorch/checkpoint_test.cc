// SPDX-License-Identifier: Apache-2.0
// A checkpointed function gives the same bits as without checkpointing.
#include <thread>

#include "test/libtorch/checks.h"

namespace {

namespace lt = hvd::libtorch;
using torch::Tensor;
using torch::autograd::grad;

torch::TensorOptions with_grad() { return torch::requires_grad(); }

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(int width)
      : up(register_module("up", torch::nn::Linear(width, 2 * width))),
        down(register_module("down", torch::nn::Linear(2 * width, width))) {}
  Tensor forward(Tensor x) { return down(torch::gelu(up(x))) + x; }
  torch::nn::Linear up, down;
};
TORCH_MODULE(Block);

std::vector<Tensor> gradients(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> all;
  for (const Tensor& parameter : parameters) {
    all.push_back(parameter.grad().clone());
    parameter.mutable_grad() = Tensor();
  }
  return all;
}

TEST(TwelveBlocksHaveTheSameGradients) {
  torch::nn::ModuleList blocks;
  for (int i = 0; i < 12; ++i) blocks->push_back(Block(16));
  Tensor x = torch::randn({8, 16}, with_grad());
  std::vector<Tensor> parameters = blocks->parameters();
  parameters.push_back(x);
  std::vector<std::vector<Tensor>> found;
  for (const int way : {0, 1, 2}) {
    Tensor y = x;
    const auto run = [&](int first, int last, Tensor in) {
      for (int i = first; i < last; ++i) {
        Block block = std::dynamic_pointer_cast<BlockImpl>(blocks[i]);
        in =
            way == 0
                ? block(in)
                : lt::checkpoint(
                      [block](Tensor each) mutable { return block(each); }, in);
      }
      return in;
    };
    for (int i = 0; i < 12; i += 4) {
      // The third way nests regions.
      y = way < 2
              ? run(i, i + 4, y)
              : lt::checkpoint([=](Tensor in) { return run(i, i + 4, in); }, y);
    }
    y.pow(2).mean().backward();
    found.push_back(gradients(parameters));
  }
  EXPECT(test::equal(found[0], found[1]));
  EXPECT(test::equal(found[0], found[2]));
}

TEST(ArgumentsAndResultsAreOfAnyKind) {
  Tensor a = torch::randn({3}, with_grad()), b = torch::randn({3}, with_grad());
  const auto function = [](std::vector<Tensor> pair, double factor,
                           Tensor none) {
    return std::make_tuple(pair[0] * pair[1].exp() * factor, pair[1].sin(),
                           none.defined());
  };
  const auto [product, sine, defined] =
      lt::checkpoint(function, std::vector<Tensor>{a, b}, 2.0, Tensor());
  EXPECT(!defined);
  (product.sum() + sine.sum()).backward();
  const std::vector<Tensor> found = gradients({a, b});
  const auto [other, cosine, undefined] = function({a, b}, 2.0, Tensor());
  (other.sum() + cosine.sum()).backward();
  EXPECT(test::equal(found, gradients({a, b})) && !undefined);
}

// Counts of a function's runs.
struct Runs {
  int begun = 0, ended = 0, again = 0;
};

TEST(TheFunctionRunsAgainOnceAndStopsEarly) {
  for (const bool early : {true, false}) {
    Runs runs;
    Tensor x = torch::randn({4}, with_grad());
    lt::CheckpointOptions options;
    options.early_stop = early;
    const Tensor y = lt::checkpoint(
        [&](Tensor in) {
          ++runs.begun;
          runs.again += lt::is_recomputing();
          const Tensor out = in.sin().exp().clone();
          ++runs.ended;
          return out;
        },
        x, options);
    EXPECT(runs.begun == 1 && !lt::is_recomputing());
    y.sum().backward({}, /*retain_graph=*/true);
    // The result of exp() is saved last.
    EXPECT(runs.begun == 2 && runs.again == 1 && runs.ended == (early ? 1 : 2));
    const Tensor once = x.grad().clone();
    y.sum().backward();
    EXPECT(runs.begun == 3);
    EXPECT_CLOSE(x.grad(), 2 * once, 0);
    EXPECT_THROWN(c10::Error, "second time", y.sum().backward());
  }
}

TEST(AFunctionWithoutSavedTensorsIsNotRunAgain) {
  int count = 0;
  Tensor x = torch::randn({4}, with_grad());
  lt::checkpoint([&](Tensor in) { return ++count, in.clone() + 1; }, x)
      .sum()
      .backward();
  EXPECT(count == 1);
  {
    const torch::NoGradGuard no_grad;
    lt::checkpoint([&](Tensor in) { return ++count, in.sin(); }, x);
  }
  EXPECT(count == 2);
}

TEST(RandomNumbersAreDrawnAgain) {
  Tensor x = torch::ones({20000}, with_grad());
  const auto drops = [](Tensor in) {
    return torch::dropout(in, 0.5, true).exp();
  };
  const auto run = [&](bool checkpointed, bool preserves) {
    torch::manual_seed(11);
    const Tensor before = torch::dropout(x, 0.3, true);
    lt::CheckpointOptions options;
    options.preserve_rng_state = preserves;
    const Tensor y =
        checkpointed ? lt::checkpoint(drops, before, options) : drops(before);
    const Tensor between = torch::rand({1});
    y.sum().backward();
    std::vector<Tensor> found = gradients({x});
    found.push_back(between);
    found.push_back(torch::rand({1}));
    return found;
  };
  EXPECT(test::equal(run(false, true), run(true, true)));
  const std::vector<Tensor> without = run(true, false);
  EXPECT(!torch::equal(run(false, true)[0], without[0]));
}

// Like Python's autocast region.
class Autocast {
 public:
  Autocast() {
    at::autocast::increment_nesting();
    lt::internal::AutocastState::current();
#if HVD_TORCH_AT_LEAST(2, 4)
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
#else
    at::autocast::set_cpu_enabled(true);
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
#endif
  }
  ~Autocast() {
    before_.restore();
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }

 private:
  const lt::internal::AutocastState before_ =
      lt::internal::AutocastState::current();
};

TEST(AutocastIsAsItWas) {
  Tensor x = torch::randn({4, 4}, with_grad()),
         w = torch::randn({4, 4}, with_grad());
  const auto function = [&](Tensor in) {
    return torch::mm(torch::mm(in, w).tanh(), w);
  };
  std::vector<std::vector<Tensor>> found;
  for (const bool checkpointed : {false, true}) {
    Tensor y;
    {
      const Autocast autocast;
      y = checkpointed ? lt::checkpoint(function, x) : function(x);
    }
    EXPECT(y.scalar_type() == torch::kBFloat16);
    y.to(torch::kFloat).sum().backward();
    found.push_back(gradients({x, w}));
    EXPECT(torch::mm(x, w).scalar_type() == torch::kFloat);
  }
  EXPECT(test::equal(found[0], found[1]));
}

TEST(HigherDerivativesAndPartsOfTheGraph) {
  Tensor x = torch::rand({3}, with_grad());
  const auto function = [](Tensor in) { return in.sin().exp().sin(); };
  const auto inner = [=](Tensor in) {
    return lt::checkpoint(function, in) * in;
  };
  const auto third = [&](const std::function<Tensor(Tensor)>& of) {
    Tensor slope = of(x);
    for (int i = 0; i < 3; ++i)
      slope = grad({slope.sum()}, {x}, {}, true, true)[0];
    return slope.detach();
  };
  const Tensor wanted = third([&](Tensor in) { return function(in) * in; });
  EXPECT_CLOSE(third(inner), wanted, 1e-4);
  EXPECT_CLOSE(third([&](Tensor in) { return lt::checkpoint(inner, in); }),
               wanted, 1e-4);

  // grad() of one input of two.
  Tensor z = torch::rand({3}, with_grad());
  const Tensor y = lt::checkpoint(
      [](Tensor a, Tensor b) { return a.exp() * b.exp(); }, x, z);
  EXPECT_CLOSE(grad({y.sum()}, {z})[0], (x + z).exp(), 1e-5);
  EXPECT(!x.grad().defined());

  // A backward pass within the function.
  const auto differentiates = [](Tensor in) {
    const Tensor out = in * in * in;
    return grad({out.sum()}, {in}, {}, true, true)[0].sin();
  };
  lt::checkpoint(differentiates, x).sum().backward();
  EXPECT_CLOSE(x.grad(), (3 * x * x).cos() * 6 * x, 1e-4);
}

TEST(AGradientIsCompleteOncePerBackward) {
  Tensor w = torch::randn({4, 4}, with_grad());
  int hooks = 0;
  const lt::internal::GradientHook hook(w, {[] {}, [&] { ++hooks; }});
  const auto uses = [&](Tensor in) { return torch::mm(in, w).tanh(); };
  Tensor x = torch::randn({2, 4}, with_grad());
  const auto twice = [&](Tensor in) {
    return lt::checkpoint(uses, lt::checkpoint(uses, in));
  };
  const Tensor y = torch::mm(lt::checkpoint(twice, twice(uses(x))), w);
  y.sum().backward();
  EXPECT(hooks == 1);
  const std::vector<Tensor> found = gradients({w, x});
  torch::mm(uses(uses(uses(uses(uses(x))))), w).sum().backward();
  EXPECT(test::equal(found, gradients({w, x})));
  EXPECT(hooks == 2);
}

TEST(StatisticsAreUpdatedOnce) {
  torch::nn::BatchNorm1d norm(4);
  Tensor x = torch::randn({8, 4}, with_grad());
  lt::CheckpointOptions options;
  options.buffers = norm->buffers();
  lt::checkpoint([&](Tensor in) { return norm(in).sin(); }, x, options)
      .sum()
      .backward();
  EXPECT(norm->num_batches_tracked.item<std::int64_t>() == 1);
  const Tensor mean = norm->running_mean.clone();
  torch::nn::BatchNorm1d other(4);
  other(x);
  EXPECT(torch::equal(mean, other->running_mean));
}

TEST(DifferencesAreTold) {
  int run = 0;
  Tensor x = torch::rand({4}, with_grad());
  const auto differs = [&](const std::function<Tensor(Tensor)>& first,
                           const std::function<Tensor(Tensor)>& second,
                           lt::DeterminismCheck check) {
    run = 0;
    lt::CheckpointOptions options;
    options.determinism_check = check;
    options.early_stop = false;
    lt::checkpoint(
        [&run, first, second](Tensor in) {
          return ++run == 1 ? first(in) : second(in);
        },
        x, options)
        .sum()
        .backward();
  };
  const auto sine = [](Tensor in) { return in.sin(); };
  const auto two = [](Tensor in) { return in.sin().exp(); };
  const auto longer = [](Tensor in) { return torch::cat({in, in}).sin(); };
  const auto doubled = [](Tensor in) { return (in * 2).sin(); };
  const auto metadata = lt::DeterminismCheck::kMetadata;
  EXPECT_THROWN(lt::CheckpointError, "different number of tensors",
                differs(two, sine, metadata));
  EXPECT_THROWN(lt::CheckpointError, "different number of tensors",
                differs(sine, two, metadata));
  EXPECT_THROWN(lt::CheckpointError, "different metadata",
                differs(sine, longer, metadata));
  EXPECT_THROWN(lt::CheckpointError, "checksum",
                differs(sine, doubled, lt::DeterminismCheck::kChecksum));
  differs(sine, doubled, metadata);  // Not detected.
  differs(sine, two, lt::DeterminismCheck::kNone);
  differs(sine, sine, lt::DeterminismCheck::kChecksum);
}

TEST(AModifiedTensorIsAnError) {
  Tensor x = torch::rand({4}, with_grad()),
         bias = torch::rand({4}, with_grad());
  Tensor y = lt::checkpoint([&](Tensor in) { return (in + bias).sin(); }, x);
  {
    const torch::NoGradGuard no_grad;
    bias.add_(1);
  }
  EXPECT_THROWN(lt::CheckpointError, "modified in place", y.sum().backward());
  Tensor z = x * 1;
  y = lt::checkpoint([](Tensor in) { return in.sin(); }, z);
  z.detach().add_(1);
  EXPECT_THROWN(c10::Error, "modified by an inplace operation",
                y.sum().backward());
}

TEST(ErrorsOfTheFunctionPass) {
  bool throws = true;
  Tensor x = torch::rand({4}, with_grad());
  const auto function = [&](Tensor in) {
    const Tensor out = in.sin();
    if (throws) throw std::runtime_error("of the function's own");
    return out.sin().exp();
  };
  EXPECT_THROWN(std::runtime_error, "own", lt::checkpoint(function, x));
  throws = false;
  Tensor y = lt::checkpoint(function, x);
  throws = true;
  torch::manual_seed(1);
  EXPECT_THROWN(std::runtime_error, "own", y.sum().backward());
  EXPECT(!lt::is_recomputing());
  // A later run works as before.
  throws = false;
  x.mutable_grad() = Tensor();
  lt::checkpoint(function, x).sum().backward();
  const Tensor found = x.grad().clone();
  x.mutable_grad() = Tensor();
  function(x).sum().backward();
  EXPECT(torch::equal(found, x.grad()));
}

TEST(GraphsGoWithTheirResults) {
  const auto alive = std::make_shared<int>(0);
  Tensor x = torch::rand({4}, with_grad());
  {
    const auto inner = [alive](Tensor in) { return in.sin().exp(); };
    const auto outer = [=](Tensor in) {
      return lt::checkpoint(inner, in).sin();
    };
    const Tensor never = lt::checkpoint(outer, x);
    lt::checkpoint(outer, x).sum().backward();
  }
  EXPECT(alive.use_count() == 1);
}

TEST(BackwardRunsOnAnyThread) {
  Tensor x = torch::rand({4}, with_grad());
  const Tensor y =
      lt::checkpoint([](Tensor in) { return in.sin().exp(); }, x).sum();
  std::vector<std::thread> threads;
  std::vector<Tensor> found(4);
  for (Tensor& each : found) {
    threads.emplace_back(
        [&] { each = grad({y}, {x}, {}, /*retain_graph=*/true)[0]; });
  }
  for (std::thread& thread : threads) thread.join();
  const Tensor wanted = grad({x.sin().exp().sum()}, {x})[0];
  for (const Tensor& each : found) EXPECT(torch::equal(each, wanted));
}

TEST(SavedTensorsMayBeLookedAtOutsideOfBackward) {
  int runs = 0;
  Tensor x = torch::rand({4}, with_grad());
  const Tensor y =
      lt::checkpoint([&](Tensor in) { return ++runs, in.sin().exp(); }, x);
  // Two independent passes.
  for (int i = 0; i < 2; ++i) grad({y.sum()}, {x}, {}, true);
  EXPECT(runs == 3);
}

}  // namespace
