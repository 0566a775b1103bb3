// SPDX-License-Identifier: Apache-2.0
// The overhead of a DistributedOptimizer over the optimizer that it wraps.
//
//   HOROVODPP_NUM_THREADS=1 horovodrun -np 2 optimizer_benchmark [rounds [row...]]
//
// Rows to measure (default: all):
//   resnet18   the step of a ResNet-18 on Fashion-MNIST, 64 images per rank
//   mlp        the step of a perceptron with 21 million parameters
//   resnet50   reducing gradients of its shapes, and an AdamW step
//   gpt2       the same for the 124 million parameters of GPT-2
//   hooks      hooks and bookkeeping of 2,000 parameters, in 20 steps
//   check      the comparison of 124 million parameters, in every 100th step
//   clip       the norm and the scaling of the gradients of a perceptron with
//              21 million parameters, in a step
//   recompute  eight layers that are recomputed, on a link of 1 Gbit/s
//
// In each round the contenders take turns. The output has the median over the
// rounds of the slowest rank's time, in milliseconds, and the median of the
// rounds' ratios. It does so for elapsed time, and for the processor time of
// all threads of a rank, which other programs on the machine disturb less.
// "alone" is one rank with the wrapped optimizer, while the others wait.
// scripts/compare_steps.py makes a table from the output.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <horovodpp/autograd/warning.h>
#include <horovodpp/horovodpp.h>

#include "models/vision/resnet.h"
#include "test/benchmark/model_shapes.h"
#include "test/benchmark/quartiles.h"

namespace hvd::benchmark {
namespace {

using Named = std::vector<nn::NamedTensor>;

void meet() { throw_if_error(barrier()); }

double largest_over_ranks(double value) {
  throw_if_error(allreduce_(TensorView::of(&value, {1}),
                            {.name = "largest", .op = ReduceOp::kMax}));
  return value;
}

// In milliseconds, of the slowest rank.
struct Took {
  double wall = 0;
  double processor = 0;  // Of all its threads.
};

// The processor time of all threads of this process.
double processor_milliseconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 +
         static_cast<double>(time.tv_nsec) * 1e-6;
}

Took time_of(const std::function<void()>& work) {
  const double before = processor_milliseconds();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - begin;
  return {took.count(), processor_milliseconds() - before};
}

Took largest_over_ranks(const Took& took) {
  return {largest_over_ranks(took.wall), largest_over_ranks(took.processor)};
}

// Runs on all ranks at once; the slowest counts.
Took together(const std::function<void()>& work) {
  meet();
  return largest_over_ranks(time_of(work));
}

// Runs on rank 0, while the others wait at a barrier.
Took alone(const std::function<void()>& work) {
  meet();
  const Took took = rank() == 0 ? time_of(work) : Took();
  meet();
  return largest_over_ranks(took);
}

struct Contender {
  std::string name;
  std::function<Took()> measure;
};

// The first contender is the reference.
void compare(const std::string& row, int rounds,
             const std::vector<Contender>& contenders) {
  std::vector<std::vector<Took>> took(contenders.size());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const std::size_t next =
          (i + static_cast<std::size_t>(round + 1)) % contenders.size();
      const Took time = contenders[next].measure();
      if (round >= 0) took[next].push_back(time);
    }
  }
  if (rank() != 0) return;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto median_of = [&](auto value) {
      std::vector<double> values;
      for (std::size_t round = 0; round < took[i].size(); ++round) {
        values.push_back(value(took[i][round], took[0][round]));
      }
      return quartiles(values).median;
    };
    using A = const Took&;
    std::printf("%-10s %-44s %10.3f ms  x %.3f   processor %10.3f ms  x %.3f\n",
                row.c_str(), contenders[i].name.c_str(),
                median_of([](A own, A) { return own.wall; }),
                median_of([](A own, A first) { return own.wall / first.wall; }),
                median_of([](A own, A) { return own.processor; }),
                median_of([](A own, A first) {
                  return own.processor / first.processor;
                }));
  }
  std::fflush(stdout);
}

Named named_parameters_of(const std::vector<Shape>& shapes) {
  Named named;
  for (const Shape& shape : shapes) {
    Tensor tensor = full(autograd::Dims(shape), 0.01);
    named.push_back(
        {"p" + std::to_string(named.size()), tensor.set_requires_grad(true)});
  }
  return named;
}

std::unique_ptr<optim::Optimizer> adamw(const Named& named) {
  return std::make_unique<optim::AdamW>(named, optim::AdamWOptions{});
}

// One model and its step, with one optimizer.
class Training {
 public:
  Training(std::shared_ptr<nn::Module> model, Tensor images, Tensor labels,
           bool is_distributed, bool shards = false)
      : model_(std::move(model)),
        images_(std::move(images)),
        labels_(std::move(labels)) {
    auto sgd = std::make_unique<optim::SGD>(
        model_->named_parameters(),
        optim::SGDOptions{.learning_rate = 1e-4, .momentum = 0.9});
    if (!is_distributed) {
      optimizer_ = std::move(sgd);
      return;
    }
    static int number = 0;
    optimizer_ = std::make_unique<DistributedOptimizer>(
        std::move(sgd), optim::DistributedOptions{
                            .shard_updates = shards,
                            .name = "training" + std::to_string(number++)});
  }
  void step() {
    optimizer_->zero_grad();
    cross_entropy((*model_)(images_), labels_).backward();
    optimizer_->step();
  }

 private:
  std::shared_ptr<nn::Module> model_;
  Tensor images_;
  Tensor labels_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

void compare_training(
    const std::string& row, int rounds, int steps,
    const std::function<std::shared_ptr<nn::Module>()>& model) {
  const Tensor images = rand({64, 1, 28, 28});
  const Tensor labels = (rand({64}) * 10).to(DType::kI64);
  Training one(model(), images, labels, false);
  Training many(model(), images, labels, true);
  Training sharded(model(), images, labels, true, true);
  const auto steps_of = [steps](Training& training) {
    return [&training, steps] {
      for (int i = 0; i < steps; ++i) training.step();
    };
  };
  compare(
      row + " x" + std::to_string(steps), rounds,
      {{"alone", [&] { return alone(steps_of(one)); }},
       {"all ranks, each for itself", [&] { return together(steps_of(one)); }},
       {"distributed", [&] { return together(steps_of(many)); }},
       {"distributed, updates sharded",
        [&] { return together(steps_of(sharded)); }}});
}

// 28 * 28 -> 3 x 2,900 -> 10: about 21 million.
std::shared_ptr<nn::Module> perceptron() {
  std::vector<std::shared_ptr<nn::Module>> layers = {
      std::make_shared<nn::Flatten>()};
  for (const auto& [in, out] :
       {std::pair{784, 2900}, std::pair{2900, 2900}, std::pair{2900, 2900}}) {
    layers.push_back(std::make_shared<nn::Linear>(in, out));
    layers.push_back(std::make_shared<nn::ReLU>());
  }
  layers.push_back(std::make_shared<nn::Linear>(2900, 10));
  return std::make_shared<nn::Sequential>(std::move(layers));
}

// Gives every parameter a gradient in its final place.
void make_gradients(const Named& named) {
  for (const auto& [name, tensor] : named) tensor.sum().backward();
}

// Stands in for the last part of a backward pass.
void write_gradients(const Named& named) {
  for (const auto& [name, tensor] : named) {
    const Tensor grad = tensor.grad();
    std::fill_n(grad.data<float>(), grad.num_elements(), 0.5f);
    grad.bump_version();
  }
}

// The limit that memory bandwidth sets.
void copy_gradients(const Named& named, std::vector<float>& copy) {
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : named) elements += tensor.num_elements();
  copy.resize(static_cast<std::size_t>(elements));
  float* next = copy.data();
  for (const auto& [name, tensor] : named) {
    std::memcpy(next, tensor.grad().raw_data(), tensor.bytes());
    next += tensor.num_elements();
  }
}

void compare_updates(const std::string& row, int rounds,
                     const std::vector<Shape>& shapes) {
  const Named plain = named_parameters_of(shapes);
  const auto wrapped = adamw(plain);
  make_gradients(plain);
  std::vector<float> copy;
  const auto measure = [](const Named& named, const std::function<void()>& work,
                          bool by_one = false) {
    write_gradients(named);
    return by_one ? alone(work) : together(work);
  };
  compare(row, rounds,
          {{"AdamW, alone",
            [&] {
              return measure(
                  plain, [&] { wrapped->step(); }, true);
            }},
           {"AdamW, all ranks at once",
            [&] { return measure(plain, [&] { wrapped->step(); }); }},
           {"memcpy of as many bytes, all ranks at once", [&] {
              return measure(plain, [&] { copy_gradients(plain, copy); });
            }}});
  const auto with = [&](const char* name, bool in_arena, bool shards) {
    const Named named = named_parameters_of(shapes);
    DistributedOptimizer optimizer(adamw(named), {.shard_updates = shards,
                                                  .check_parameters_every = 0,
                                                  .name = row + name});
    if (!in_arena) {
      for (const auto& [key, tensor] : named) {
        tensor.set_grad(full(tensor.shape(), 0.5));
      }
    } else {
      make_gradients(named);
    }
    optimizer.step();
    std::vector<Contender> contenders = {
        {"AdamW, alone",
         [&] {
           return measure(
               plain, [&] { wrapped->step(); }, true);
         }},
        {std::string(name) + ": reduce, average, AdamW",
         [&] { return measure(named, [&] { optimizer.step(); }); }}};
    if (!shards) {
      contenders.push_back(
          {std::string(name) + ": reduce, average",
           [&] { return measure(named, [&] { optimizer.synchronize(); }); }});
    }
    compare(row, rounds, contenders);
  };
  with("ordinary memory", false, false);
  with("arena", true, false);
  with("sharded", true, true);
}

// Consecutive steps, as in training: after a few, the order of the calls is a
// cycle.
void compare_hooks(int rounds) {
  constexpr int kParameters = 2000;
  constexpr int kSteps = 20;
  const Named plain =
      named_parameters_of(std::vector<Shape>(kParameters, Shape({1})));
  const Named named =
      named_parameters_of(std::vector<Shape>(kParameters, Shape({1})));
  const Named nobody =
      named_parameters_of(std::vector<Shape>(kParameters, Shape({1})));
  const auto sgd = [](const Named& parameters) {
    return std::make_unique<optim::SGD>(
        parameters, optim::SGDOptions{.learning_rate = 1e-3});
  };
  const auto alone_sgd = sgd(plain);
  DistributedOptimizer distributed(
      sgd(named), {.check_parameters_every = 0, .name = "hooks"});
  // A reducer without tensors makes the bare calls.
  replica::GradientReducer reducer(current_runtime(), {.name = "calls"});
  const auto loss = [](const Named& parameters) {
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
    return cat(tensors).sum();
  };
  std::vector<float> memory(kParameters);
  const auto steps = [](const std::function<void()>& step) {
    for (int i = 0; i < kSteps; ++i) step();
    return together([&] {
      for (int i = 0; i < kSteps; ++i) step();
    });
  };
  compare("hooks", rounds,
          {{"SGD: backward and step",
            [&] {
              return steps([&] {
                alone_sgd->zero_grad();
                loss(plain).backward();
                alone_sgd->step();
              });
            }},
           {"distributed: backward and step",
            [&] {
              return steps([&] {
                distributed.zero_grad();
                loss(named).backward();
                distributed.step();
              });
            }},
           {"calls: prepared by name, and waited for", [&] {
              return steps([&] {
                std::vector<Future<void>> calls;
                for (int i = 0; i < kParameters; ++i) {
                  calls.push_back(current_runtime().allreduce_async_(
                      TensorView::of(&memory[static_cast<std::size_t>(i)], {1}),
                      {.name = nobody[static_cast<std::size_t>(i)].name}));
                }
                for (const Future<void>& call : calls) {
                  throw_if_error(call.wait());
                }
              });
            }}});
  if (rank() == 0) {
    std::printf(
        "hooks      a parameter's part of a step is a %d-th of each line\n",
        kParameters * kSteps);
  }
}

void compare_check(int rounds) {
  const Named named = named_parameters_of(gpt2_small_shapes());
  const Named plain = named_parameters_of(gpt2_small_shapes());
  DistributedOptimizer never(adamw(named),
                             {.check_parameters_every = 0, .name = "never"});
  DistributedOptimizer each(adamw(plain),
                            {.check_parameters_every = 1, .name = "each"});
  make_gradients(named);
  never.step();
  make_gradients(plain);
  each.step();
  const auto step = [](const Named& parameters, optim::Optimizer& optimizer) {
    write_gradients(parameters);
    return together([&] { optimizer.step(); });
  };
  compare("check", rounds,
          {{"reduce, AdamW", [&] { return step(named, never); }},
           {"and the parameters compared (every 100th step)",
            [&] { return step(plain, each); }}});
}

// Steps with and without clipping, for the 21 million parameters of a
// perceptron.
void compare_clipping(int rounds) {
  const Named named = perceptron()->named_parameters();
  DistributedOptimizer optimizer(
      std::make_unique<optim::SGD>(named,
                                   optim::SGDOptions{.learning_rate = 0}),
      {.check_parameters_every = 0, .name = "clip"});
  make_gradients(named);
  optimizer.step();
  const auto step = [&](double max_norm) {
    write_gradients(named);
    optimizer.synchronize();
    const auto skip = optimizer.skip_synchronize();
    return together([&] { optimizer.step({.max_norm = max_norm}); });
  };
  compare("clip", rounds,
          {{"SGD along reduced gradients",
            [&] { return step(std::numeric_limits<double>::infinity()); }},
           {"and their norm", [&] { return step(1e30); }},
           {"and their norm, and clipped", [&] { return step(1e-3); }}});
}

// A link with a bandwidth in bytes per second that carries one gradient after
// the other and uses no processor time. It delays gradients that a node has
// reduced.
class SlowLink : public compression::Compressor {
 public:
  explicit SlowLink(double bytes_per_second)
      : bytes_per_second_(bytes_per_second) {}

  std::string name() const override { return "slow link"; }
  double traffic(int ranks) const override {
    return compression::plain_traffic(ranks);
  }

  std::unique_ptr<compression::Exchange> start(
      Runtime& job, std::vector<compression::Gradient> batch,
      compression::ExchangeOptions options) override {
    std::vector<TensorView> views;
    double bytes = 0;
    for (const compression::Gradient& gradient : batch) {
      views.push_back(gradient.view);
      bytes += static_cast<double>(gradient.view.bytes());
    }
    const std::chrono::duration<double> takes(bytes / bytes_per_second_);
    free_at_ = std::max(free_at_, Clock::now()) +
               std::chrono::duration_cast<Clock::duration>(takes);
    return std::make_unique<Delayed>(
        job.grouped_allreduce_async_(std::move(views),
                                     {.name = options.name,
                                      .op = options.op,
                                      .process_set = options.process_set}),
        free_at_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  class Delayed : public compression::Exchange {
   public:
    Delayed(Future<void> reduced, Clock::time_point arrives)
        : reduced_(std::move(reduced)), arrives_(arrives) {}
    Status finish() override {
      const Status status = reduced_.wait();
      std::this_thread::sleep_until(arrives_);
      return status;
    }

   private:
    const Future<void> reduced_;
    const Clock::time_point arrives_;
  };

  const double bytes_per_second_;
  Clock::time_point free_at_ = {};
};

// The link takes about twice as long as the layers.
void compare_recompute(int rounds) {
  constexpr int kLayers = 8;
  static constexpr double kBytesPerSecond = 125e6;
  const autograd::Warnings in_vain_on_one_node([](const std::string&) {});
  const auto run = [](bool recomputes) {
    struct Layers {
      std::vector<std::shared_ptr<nn::Linear>> all;
      Named named;
      std::unique_ptr<DistributedOptimizer> optimizer;
    };
    auto layers = std::make_shared<Layers>();
    for (int k = 0; k < kLayers; ++k) {
      layers->all.push_back(std::make_shared<nn::Linear>(1024, 1024));
      for (auto& [key, tensor] : layers->all.back()->named_parameters()) {
        layers->named.push_back({std::to_string(k) + key, tensor});
      }
    }
    layers->optimizer = std::make_unique<DistributedOptimizer>(
        std::make_unique<optim::SGD>(layers->named,
                                     optim::SGDOptions{.learning_rate = 0}),
        optim::DistributedOptions{
            .compression = std::make_shared<SlowLink>(kBytesPerSecond),
            .check_parameters_every = 0,
            .name = recomputes ? "again" : "once"});
    return std::function<Took()>([layers, recomputes] {
      return together([&] {
        layers->optimizer->zero_grad();
        Tensor x = full({128, 1024}, 0.1).set_requires_grad(true);
        for (const auto& layer : layers->all) {
          const auto forward = [layer](const Tensor& in) {
            return tanh((*layer)(in));
          };
          x = recomputes ? checkpoint(forward, x) : forward(x);
        }
        x.sum().backward();
        layers->optimizer->step();
      });
    });
  };
  compare("recompute", rounds,
          {{"kept", run(false)}, {"recomputed", run(true)}});
}

int run(int argc, char** argv) {
  throw_if_error(init());
  manual_seed(1);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 11;
  const std::vector<std::string> rows(argv + std::min(argc, 2), argv + argc);
  const auto wants = [&](const char* row) {
    return rows.empty() ||
           std::find(rows.begin(), rows.end(), row) != rows.end();
  };
  if (wants("resnet18")) {
    compare_training("resnet18", rounds, 1, [] {
      return std::make_shared<models::ResNet18>(
          models::ResNetOptions{.width = 32});
    });
  }
  if (wants("mlp")) compare_training("mlp", rounds, 4, perceptron);
  if (wants("resnet50")) compare_updates("resnet50", rounds, resnet50_shapes());
  if (wants("gpt2")) compare_updates("gpt2", rounds, gpt2_small_shapes());
  if (wants("hooks")) compare_hooks(rounds);
  if (wants("check")) compare_check(rounds);
  if (wants("clip")) compare_clipping(rounds);
  if (wants("recompute")) compare_recompute(rounds);
  throw_if_error(shutdown());
  return 0;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  try {
    return hvd::benchmark::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
