// SPDX-License-Identifier: Apache-2.0
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

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <horovodpp/horovodpp.h>

#include "checkpoint.h"
#include "loss_file.h"
#include "models/chain_model.h"
#include "trainer_options.h"

// The sum over all ranks, and the largest value of one.
double sum_over_ranks(double value, const std::string& name);
double max_over_ranks(double value, const std::string& name);

// The memory that this process has used at most, in MiB.
double peak_memory();
// That of its tensors, since reset_peak() of their allocator.
double peak_tensor_memory();

class Trainer {
 public:
  //   std::runtime_error  there are fewer items than one step takes
  //   hvd::Error, InvalidArgument  a file cannot be read or written, or options
  //                                mean nothing
  Trainer(models::ChainModel& model, const hvd::data::Dataset& dataset,
          const TrainerOptions& options);

  // Trains from where it is to the end. After each epoch the model is the same
  // on all ranks, running moments included, and `after_epoch` is called, with
  // the number of epochs that are done, in evaluation.
  void run(const std::function<void(std::int64_t epoch)>& after_epoch);

 private:
  void train_epoch(std::int64_t epoch);
  double train_step(const hvd::data::Batch& batch);
  void show_checkpointing(const hvd::Tensor& input);
  void show_compression();
  Checkpoint checkpoint();
  void save();
  std::int64_t step_of_epoch() const;

  const TrainerOptions options_;
  models::ChainModel& model_;
  hvd::data::DistributedSampler sampler_;
  hvd::data::DataLoader loader_;
  const std::int64_t steps_;  // Of an epoch.
  std::unique_ptr<hvd::DistributedOptimizer> optimizer_;
  std::unique_ptr<hvd::optim::LRScheduler> schedule_;
  std::unique_ptr<LossFile> losses_;  // On rank 0, if it is wanted.
};
