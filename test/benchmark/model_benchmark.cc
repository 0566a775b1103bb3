// SPDX-License-Identifier: Apache-2.0
// Training steps of an example model, on request.
//
//   echo 10 | model_benchmark gpt
//   echo 10 | model_benchmark gpt budget=50%    (as --checkpoint of the examples)
//   echo 10 | model_benchmark gpt none 2        (on two threads)
//
// Reads numbers from standard input, makes that many steps for each, and
// answers with a line of JSON:
// - the time of each step, from clearing the gradients to updating the
//   parameters
// - the processor time of forward and backward
// - the last loss
// - the peak memory minus the memory before the model was made
//
// The answer to the line "memory" has:
// - the peak bytes of tensors during forward and backward, minus the bytes
//   before (parameters, gradients, the batch)
// - the bytes over time, as pairs of seconds and bytes
// - the checkpoint plan
//
// compare_with_torch.py uses the same protocol for this program and for
// PyTorch.
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/sgd.h"
#include "models/chain_model.h"
#include "models/language/bert.h"
#include "models/language/char_lstm.h"
#include "models/language/gpt.h"
#include "models/language/llama.h"
#include "models/vision/densenet.h"
#include "models/vision/image_gru.h"
#include "models/vision/lenet.h"
#include "models/vision/mlp.h"
#include "models/vision/resnet.h"
#include "models/vision/swin.h"
#include "models/vision/unet.h"
#include "models/vision/vit.h"
#include "test/models/same_numbers.h"
#include "test/models/tasks.h"

namespace hvd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// As SETTINGS in compare_with_torch.py.
struct Contest {
  std::function<std::unique_ptr<models::ChainModel>()> make;
  std::int64_t batch;
  std::int64_t length = 0;  // Tokens; 0: images.
  autograd::Dims image = {1, 28, 28};
  bool predicts_noise = false;  // In images that have a channel of time.
};

template <typename M, typename... Options>
auto make(Options... options) {
  return [=]() -> std::unique_ptr<models::ChainModel> {
    return std::make_unique<M>(options...);
  };
}

std::map<std::string, Contest> contests() {
  return {
      {"mlp", {.make = make<models::Mlp>(), .batch = 64}},
      {"lenet", {.make = make<models::LeNet>(), .batch = 64}},
      {"resnet18", {.make = make<models::ResNet18>(), .batch = 64}},
      {"resnet50",
       {.make = make<models::ResNet50>(
            models::ResNetOptions{.channels = 3, .classes = 1000}),
        .batch = 16,
        .image = {3, 64, 64}}},
      {"densenet", {.make = make<models::DenseNetBC>(), .batch = 64}},
      {"swin", {.make = make<models::Swin>(), .batch = 64}},
      {"gpt", {.make = make<models::GPT>(), .batch = 16, .length = 128}},
      {"gpt12",
       {.make = make<models::GPT>(
            models::GPTOptions{.width = 256, .layers = 12, .heads = 4}),
        .batch = 8,
        .length = 128}},
      {"lstm", {.make = make<models::CharLSTM>(), .batch = 32, .length = 64}},
      {"llama", {.make = make<models::Llama>(), .batch = 16, .length = 128}},
      {"bert", {.make = make<models::Bert>(), .batch = 16, .length = 128}},
      {"vit", {.make = make<models::Vit>(), .batch = 64}},
      {"gru", {.make = make<models::ImageGRU>(), .batch = 64}},
      {"unet",
       {.make = make<models::UNet>(), .batch = 16, .predicts_noise = true}}};
}

struct Sample {
  Tensor inputs;
  Tensor targets;
};

Sample sample_of(const Contest& contest) {
  if (contest.length > 0) {
    const Tensor tokens =
        same_integers("tokens", {contest.batch, contest.length + 1}, 256);
    return {tokens.narrow(1, 0, contest.length).contiguous(),
            tokens.narrow(1, 1, contest.length).reshape({-1})};
  }
  if (contest.predicts_noise) {
    return {same_noisy_images(contest.batch).to(DType::kF32),
            same_noise(contest.batch).to(DType::kF32)};
  }
  const auto& [channels, height, width] =
      std::tuple(contest.image[0], contest.image[1], contest.image[2]);
  return {same_uniform("images", {contest.batch, channels, height, width})
              .to(DType::kF32),
          same_integers("labels", {contest.batch}, 10)};
}

std::unique_ptr<optim::Optimizer> optimizer_of(const Contest& contest,
                                               const nn::Module& model) {
  if (contest.length > 0) {
    return std::make_unique<optim::AdamW>(
        model.named_parameters(), optim::AdamWOptions{.learning_rate = 3e-4});
  }
  return std::make_unique<optim::SGD>(
      model.named_parameters(),
      optim::SGDOptions{.learning_rate = 1e-3, .momentum = 0.9});
}

std::int64_t present_bytes() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

// Samples the bytes of tensors on a separate thread during its lifetime.
class MemoryTrace {
 public:
  using Point = std::pair<double, std::int64_t>;

  MemoryTrace() : thread_([this] { watch(); }) {}
  ~MemoryTrace() { stop(); }
  MemoryTrace(const MemoryTrace&) = delete;
  MemoryTrace& operator=(const MemoryTrace&) = delete;

  const std::vector<Point>& stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return points_;
  }

 private:
  void watch() {
    while (!done_) {
      points_.emplace_back(seconds_since(start_),
                           autograd::cpu_allocator().stats().current_bytes);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  const Clock::time_point start_ = Clock::now();
  std::atomic<bool> done_ = false;
  std::vector<Point> points_;
  std::thread thread_;
};

// This process's processor time.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

struct StepTimes {
  double seconds = 0;
  double cpu_seconds = 0;  // Of forward and backward.
};

class Trainer {
 public:
  Trainer(const Contest& contest, const std::string& checkpointing)
      : model_(contest.make()), sample_(sample_of(contest)) {
    model_->set_checkpointing(models::Checkpointing::parse(checkpointing));
    fill_with_same_numbers(*model_);
    optimizer_ = optimizer_of(contest, *model_);
  }

  StepTimes step() {
    const auto start = Clock::now();
    optimizer_->zero_grad();
    StepTimes times{.cpu_seconds = -cpu_seconds()};
    compute_gradients();
    times.cpu_seconds += cpu_seconds();
    optimizer_->step();
    loss_value_ = loss_.item<float>();
    times.seconds = seconds_since(start);
    return times;
  }

  float loss() const { return loss_value_; }

  // Call after a step, so that gradients exist.
  void show_memory() {
    auto& memory = autograd::cpu_allocator();
    memory.reset_peak();
    const std::int64_t before = memory.stats().current_bytes;
    MemoryTrace trace;
    compute_gradients();
    const auto& points = trace.stop();
    std::cout << "{\"step_bytes\": " << memory.stats().peak_bytes - before
              << ", \"plan\": \""
              << model_->plan_for(sample_.inputs).to_string()
              << "\", \"trace\": [";
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::cout << (i == 0 ? "" : ", ") << '[' << points[i].first << ", "
                << points[i].second - before << ']';
    }
    std::cout << "]}" << std::endl;
  }

 private:
  // The logits are freed before backward, as in a PyTorch function.
  void compute_gradients() {
    const Tensor loss = task_loss((*model_)(sample_.inputs), sample_.targets);
    loss.backward();
    loss_ = loss.detach();
  }

  std::unique_ptr<models::ChainModel> model_;
  Sample sample_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Tensor loss_;
  float loss_value_ = 0;
};

void show_list(const char* name, const std::vector<double>& values) {
  std::cout << '"' << name << "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::cout << (i == 0 ? "" : ", ") << values[i];
  }
  std::cout << "], ";
}

void make_steps(Trainer& trainer, int count, std::int64_t before) {
  std::vector<double> seconds, of_cpu;
  for (int i = 0; i < count; ++i) {
    const StepTimes times = trainer.step();
    seconds.push_back(times.seconds);
    of_cpu.push_back(times.cpu_seconds);
  }
  std::cout << '{';
  show_list("seconds", seconds);
  show_list("cpu_seconds", of_cpu);
  std::cout << "\"loss\": " << trainer.loss()
            << ", \"peak_bytes\": " << peak_bytes() - before << '}'
            << std::endl;
}

int serve(const std::string& name, const std::string& checkpointing,
          int threads) {
  const auto all = contests();
  const auto found = all.find(name);
  if (found == all.end()) {
    std::cerr << "model_benchmark: no model " << name << '\n';
    return 2;
  }
  set_num_threads(threads);
  const std::int64_t before = present_bytes();
  Trainer trainer(found->second, checkpointing);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "memory") {
      trainer.show_memory();
    } else {
      make_steps(trainer, std::stoi(line), before);
    }
  }
  return 0;
}

}  // namespace
}  // namespace hvd

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: model_benchmark MODEL [CHECKPOINTING [THREADS]], with "
                 "numbers of steps on standard input\n";
    return 2;
  }
  try {
    return hvd::serve(argv[1], argc > 2 ? argv[2] : "none",
                      argc > 3 ? std::stoi(argv[3]) : 1);
  } catch (const std::exception& error) {
    std::cerr << "model_benchmark: " << error.what() << '\n';
    return 1;
  }
}
