// Trains a multilayer perceptron, 784-256-128-10, on Fashion-MNIST over all
// ranks.
//
//   horovodrun -np 2 build/release/examples/cpp/fashion_mnist --epochs 5
#include <horovodpp/horovodpp.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "fashion_mnist_data.h"
#include "progress_bar.h"

namespace {

struct Options {
  int epochs = 5;
  std::int64_t batch_size = 64;  // Of one rank.
  double learning_rate = 0.05;
  std::uint64_t seed = 42;
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::int64_t limit = 0;  // Images; 0: all.
  std::string loss_file;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--epochs", options.epochs, "times to go through the data")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch-size", options.batch_size, "images per step and rank")
      ->check(CLI::PositiveNumber);
  app.add_option("--learning-rate", options.learning_rate,
                 "step size of SGD at the start; it falls to 0 along a line")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of initial weights and data order");
  app.add_option("--data", options.data, "directory with the four .gz files");
  app.add_option("--limit", options.limit, "use so many images only; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--loss-file", options.loss_file,
                 "write the loss of every step, over all ranks, to this file");
  app.option_defaults()->always_capture_default();
}

// The sum over all ranks.
double sum_over_ranks(double value, const std::string& name) {
  hvd::throw_if_error(
      hvd::allreduce_(hvd::TensorView::of(&value, {1}),
                      {.name = name, .op = hvd::ReduceOp::kSum}));
  return value;
}

class Training {
 public:
  explicit Training(const Options& options)
      : options_(options),
        train_(options.data, "train", options.limit),
        test_(options.data, "t10k", options.limit),
        global_batch_(options.batch_size * hvd::size()) {
    if (train_.size() < global_batch_) {
      throw std::runtime_error(
          std::to_string(train_.size()) +
          " images are fewer than one step of all ranks takes (" +
          std::to_string(global_batch_) + ")");
    }
    hvd::broadcast_parameters(model_->named_parameters(), 0);
    optimizer_ = std::make_unique<hvd::DistributedOptimizer>(
        std::make_unique<hvd::optim::SGD>(
            model_->named_parameters(),
            hvd::optim::SGDOptions{.learning_rate = options.learning_rate,
                                   .momentum = 0.9}));
    if (hvd::rank() == 0 && !options.loss_file.empty()) {
      losses_.open(options.loss_file);
      if (!losses_)
        throw std::runtime_error("cannot write '" + options.loss_file + "'");
    }
  }

  void train_epoch(int epoch) {
    const std::int64_t steps = train_.size() / global_batch_;
    const auto order = shuffled(train_.size(), options_.seed, epoch);
    ProgressBar bar("epoch " + std::to_string(epoch + 1) + "/" +
                        std::to_string(options_.epochs),
                    steps, global_batch_, hvd::rank() == 0);
    double sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto batch =
          train_.batch(share(order, step * global_batch_, global_batch_,
                             hvd::rank(), hvd::size()));
      const double done = static_cast<double>(epoch * steps + step) /
                          static_cast<double>(options_.epochs * steps);
      optimizer_->set_learning_rate(options_.learning_rate * (1 - done));
      const double loss = train_step(batch);
      sum += loss;
      bar.show(step + 1, sum / static_cast<double>(step + 1));
    }
    bar.finish(sum_over_ranks(sum, "epoch loss") /
               static_cast<double>(steps * hvd::size()));
  }

  // The fraction of test images that are classified rightly, over all ranks.
  double test_accuracy() {
    hvd::NoGrad no_grad;
    const auto mine = share(shuffled(test_.size(), 0, 0), 0, test_.size(),
                            hvd::rank(), hvd::size());
    double right = 0;
    for (std::size_t first = 0; first < mine.size(); first += kTestBatch) {
      const auto end = std::min(mine.size(), first + kTestBatch);
      const auto batch =
          test_.batch({mine.begin() + static_cast<std::ptrdiff_t>(first),
                       mine.begin() + static_cast<std::ptrdiff_t>(end)});
      const auto guesses =
          (*model_)(batch.images).argmax().to_vector<std::int64_t>();
      const auto labels = batch.labels.to_vector<std::int64_t>();
      for (std::size_t i = 0; i < labels.size(); ++i)
        right += guesses[i] == labels[i];
    }
    return sum_over_ranks(right, "right guesses") /
           static_cast<double>(test_.size());
  }

 private:
  static constexpr std::size_t kTestBatch = 500;

  double train_step(const FashionMnist::Batch& batch) {
    optimizer_->zero_grad();
    const hvd::Tensor loss =
        hvd::cross_entropy((*model_)(batch.images), batch.labels);
    loss.backward();
    optimizer_->step();
    const double value = static_cast<double>(loss.item<float>());
    if (!options_.loss_file.empty()) {
      const double mean = sum_over_ranks(value, "loss") / hvd::size();
      if (hvd::rank() == 0) losses_ << std::hexfloat << mean << "\n";
    }
    return value;
  }

  const Options& options_;
  const FashionMnist train_;
  const FashionMnist test_;
  const std::int64_t global_batch_;
  std::shared_ptr<hvd::nn::Sequential> model_ =
      std::make_shared<hvd::nn::Sequential>(
          std::make_shared<hvd::nn::Linear>(FashionMnist::kPixels, 256),
          std::make_shared<hvd::nn::ReLU>(),
          std::make_shared<hvd::nn::Linear>(256, 128),
          std::make_shared<hvd::nn::ReLU>(),
          std::make_shared<hvd::nn::Linear>(128, 10));
  std::unique_ptr<hvd::DistributedOptimizer> optimizer_;
  std::ofstream losses_;
};

void run(const Options& options) {
  hvd::throw_if_error(hvd::init());
  hvd::manual_seed(options.seed);
  Training training(options);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    training.train_epoch(epoch);
    const double accuracy = training.test_accuracy();
    if (hvd::rank() == 0) {
      std::printf("  test accuracy %.2f %%\n", 100 * accuracy);
      std::fflush(stdout);
    }
  }
  hvd::throw_if_error(hvd::shutdown());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a multilayer perceptron on Fashion-MNIST");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
    return 1;
  }
}
