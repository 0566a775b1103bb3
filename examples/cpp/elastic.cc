// SPDX-License-Identifier: Apache-2.0
// A training that outlives lost ranks, and whose result does not show them:
//
//   horovodrun -np 3 --min-np 1 --max-np 3 build/release/examples/cpp/elastic
//
// Kill a rank meanwhile: the others go on, a new process replaces it, and the
// checksum of the parameters at the end is that of any other run.
#include <horovodpp/core/thread/threads.h>
#include <horovodpp/horovodpp.h>
#include <models/language/gpt.h>
#include <models/vision/mlp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
  std::string model = "mlp";
  std::int64_t steps = 200;
  int shards = 8;
  std::int64_t batch = 4;  // Samples of a shard.
  std::string snapshots;   // Their folder; empty: none are taken.
  std::int64_t every = 50;
  std::string log;   // Prefix of the files of step times; empty: none.
  int wait_for = 1;  // Ranks, before the second half of the steps.
};

constexpr std::int64_t kSamples = 4096;
constexpr std::int64_t kTokens = 16;

// A model and its data, which are made up.
class Task {
 public:
  explicit Task(const std::string& name) : predicts_tokens_(name == "gpt") {
    if (predicts_tokens_) {
      model_ =
          std::make_unique<models::GPT>(models::GPTOptions{.width = 32,
                                                           .layers = 2,
                                                           .heads = 2,
                                                           .context = kTokens,
                                                           .vocabulary = 64,
                                                           .dropout = 0.1});
    } else {
      model_ = std::make_unique<models::Mlp>(64);
    }
  }

  hvd::nn::Module& model() { return *model_; }

  // The mean over the samples.
  hvd::Tensor loss(const std::vector<std::int64_t>& samples) {
    const auto count = static_cast<std::int64_t>(samples.size());
    if (predicts_tokens_) {
      std::vector<std::int64_t> tokens;
      for (const std::int64_t sample : samples) {
        for (std::int64_t i = 0; i < kTokens; ++i) {
          tokens.push_back((sample * (i + 1) + i * i) % 64);
        }
      }
      const hvd::Tensor text = hvd::from_vector(tokens, {count, kTokens});
      const hvd::Tensor logits = (*model_)(text.narrow(1, 0, kTokens - 1));
      return hvd::cross_entropy(
          logits.reshape({count * (kTokens - 1), 64}),
          text.narrow(1, 1, kTokens - 1).reshape({count * (kTokens - 1)}));
    }
    std::vector<float> pixels;
    std::vector<std::int64_t> labels;
    for (const std::int64_t sample : samples) {
      for (std::int64_t i = 0; i < 64; ++i) {
        pixels.push_back(static_cast<float>((sample * (i + 3)) % 17) / 17);
      }
      labels.push_back(sample % 10);
    }
    return hvd::cross_entropy((*model_)(hvd::from_vector(pixels, {count, 64})),
                              hvd::from_vector(labels, {count}));
  }

 private:
  const bool predicts_tokens_;
  std::unique_ptr<hvd::nn::Module> model_;
};

// Writes the time, number and ranks of each step to a file of this process, for
// scripts/compare_recovery.py.
class StepLog {
 public:
  explicit StepLog(const std::string& prefix) {
    if (prefix.empty()) return;
    file_.open(prefix + std::to_string(getpid()), std::ios::app);
  }
  void add(std::int64_t step) {
    if (!file_.is_open()) return;
    const std::chrono::duration<double> now =
        std::chrono::steady_clock::now().time_since_epoch();
    file_ << std::fixed << now.count() << " " << step << " " << hvd::size()
          << std::endl;  // Flushed: the process may be killed.
  }

 private:
  std::ofstream file_;
};

// The sum of the bits of all parameters.
std::uint64_t checksum(const hvd::nn::Module& model) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const auto& [name, tensor] : model.named_parameters()) {
    for (const float value : tensor.detach().to_vector<float>()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      sum = (sum ^ bits) * 0x100000001b3;
    }
  }
  return sum;
}

void train(const Options& options) {
  // The bits of the sums depend on the number of threads.
  hvd::set_num_threads(1);
  hvd::manual_seed(1);
  Task task(options.model);
  hvd::optim::Adam adam(task.model().named_parameters(),
                        hvd::optim::AdamOptions{});
  hvd::elastic::ShardedStep sharded(task.model(), adam,
                                    {.shards = options.shards, .seed = 1});
  hvd::elastic::ShardedIndices batches(
      kSamples, {.batch_size = options.batch, .shards = options.shards});
  std::int64_t step = 0;
  hvd::elastic::State state(task.model(), adam);
  state.keep("step", step);
  std::unique_ptr<hvd::snapshot::Snapshots> snapshots;
  if (!options.snapshots.empty()) {
    snapshots = hvd::value_or_throw(
        hvd::snapshot::Snapshots::open({.directory = options.snapshots}));
    state.load_from(*snapshots);
  }
  StepLog log(options.log);
  hvd::elastic::run(state, [&] {
    // Begins again whenever the ranks have changed.
    if (hvd::rank() == 0) {
      std::printf("step %lld: %d ranks\n", static_cast<long long>(step),
                  hvd::size());
      std::fflush(stdout);
    }
    while (step < options.steps) {
      while (step == options.steps / 2 && hvd::size() < options.wait_for) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        state.end_step();  // Lets newcomers join.
      }
      sharded.step(
          step, [&](int shard) { task.loss(batches(step, shard)).backward(); });
      ++step;
      log.add(step);
      state.end_step();
      if (snapshots != nullptr && step % options.every == 0) {
        state.save_to(*snapshots, step);
      }
    }
  });
  if (snapshots != nullptr) hvd::throw_if_error(snapshots->finish());
  std::printf("rank %d of %d: step %lld, checksum %016llx\n", hvd::rank(),
              hvd::size(), static_cast<long long>(step),
              static_cast<unsigned long long>(checksum(task.model())));
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Trains with virtual shards, whatever ranks are lost");
  app.add_option("--model", options.model, "The model")
      ->check(CLI::IsMember({"mlp", "gpt"}));
  app.add_option("--steps", options.steps, "Steps of training");
  app.add_option("--shards", options.shards,
                 "Parts of a global batch; at least as many as ranks");
  app.add_option("--batch-size", options.batch, "Samples of a shard");
  app.add_option("--snapshots", options.snapshots,
                 "Folder of snapshots; goes on from the newest");
  app.add_option("--every", options.every, "Steps between snapshots")
      ->check(CLI::PositiveNumber);
  app.add_option("--log", options.log,
                 "Prefix of files with the time of each step, one a process");
  app.add_option("--wait-for", options.wait_for,
                 "Ranks to wait for before the second half of the steps");
  CLI11_PARSE(app, argc, argv);
  hvd::throw_if_error(hvd::init());
  train(options);
  hvd::throw_if_error(hvd::shutdown());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "elastic: %s\n", error.what());
  return 1;
}
