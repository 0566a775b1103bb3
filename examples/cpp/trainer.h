// A Trainer takes a model through the epochs of a data set, over all ranks: what
// the training programs share. SGD with momentum or AdamW, a learning rate that
// warms up along a line and falls to 0 along a cosine, a progress bar, and
// checkpoints.
//
//   Trainer trainer(model, dataset, {.epochs = 5, .batch_size = 64});
//   trainer.run([&](std::int64_t epoch) { report(test(model)); });
//
// Model and data set outlive it. A batch is {inputs, targets}, and the loss the
// cross entropy of the model's outputs, whose last dimension are the classes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include <horovodpp/horovodpp.h>

#include "checkpoint.h"

struct TrainerOptions {
  std::int64_t epochs = 5;
  std::int64_t batch_size = 64;   // Items of one rank.
  std::string optimizer = "sgd";  // Or "adamw".
  double learning_rate = 0.05;    // After the warm-up.
  double weight_decay = 0.0;
  double warmup_epochs = 0.0;
  double clip_norm = 0.0;   // Of all gradients; 0: not clipped.
  std::uint64_t seed = 42;  // Of weights, order, and all other random numbers.
  int workers = 1;          // Threads of each rank that prepare batches.
  std::string save = {};    // File; empty: no checkpoints.
  std::int64_t save_every = 0;  // Steps; 0: at the end of epochs only.
  std::string resume = {};      // File; empty: from the beginning.
  // The loss of every step; empty: none. A run that is resumed goes on in it.
  std::string loss_file = {};
  std::string unit = "images";         // What an item is counted in,
  std::int64_t units_per_item = 1;     // and how many it is.
  Checkpoint::Settings settings = {};  // What else the weights depend on.
};

// Adds options for all fields but the last three. Those whose defaults depend on
// the model, `recipe` says, once the command line is known.
void add_options(CLI::App& app, TrainerOptions& options);

struct Recipe {
  std::string optimizer = "sgd";
  double learning_rate = 0.05;
  double weight_decay = 0.0;
  double warmup_epochs = 0.0;
};
// Takes what the command line did not say from `recipe`.
void apply_recipe(const CLI::App& app, const Recipe& recipe,
                  TrainerOptions& options);

// The sum over all ranks, and the largest value of one.
double sum_over_ranks(double value, const std::string& name);
double max_over_ranks(double value, const std::string& name);

// The memory that this process has used at most, in MiB.
double peak_memory();

class Trainer {
 public:
  //   std::runtime_error  there are fewer items than one step takes
  //   hvd::Error, InvalidArgument  a file cannot be read or written, or options
  //                                mean nothing
  Trainer(hvd::nn::Module& model, const hvd::data::Dataset& dataset,
          const TrainerOptions& options);

  // Trains from where it is to the end. After each epoch the model is the same
  // on all ranks, running moments included, and `after_epoch` is called, with
  // the number of epochs that are done, in evaluation.
  void run(const std::function<void(std::int64_t epoch)>& after_epoch);

 private:
  void train_epoch(std::int64_t epoch);
  double train_step(const hvd::data::Batch& batch);
  Checkpoint checkpoint();
  void save();
  void open_losses();
  std::int64_t step_of_epoch() const;

  const TrainerOptions options_;
  hvd::nn::Module& model_;
  hvd::data::DistributedSampler sampler_;
  hvd::data::DataLoader loader_;
  const std::int64_t steps_;  // Of an epoch.
  std::unique_ptr<hvd::DistributedOptimizer> optimizer_;
  std::unique_ptr<hvd::optim::LRScheduler> schedule_;
  std::ofstream losses_;
};
