// SPDX-License-Identifier: Apache-2.0
// A Trainer trains a model on a data set over all ranks: the common part of the
// training programs. It uses SGD with momentum or AdamW, a learning rate with a
// linear warm-up and a cosine decay to 0, a progress bar, and checkpoints.
//
//   Trainer trainer(model, dataset, {.epochs = 5, .batch_size = 64});
//   trainer.run([&](std::int64_t epoch) { report(test(model)); });
//
// Model and data set outlive the trainer. A batch is {inputs, targets}.
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

// The sum over all ranks, and the largest value of a rank.
double sum_over_ranks(double value, const std::string& name);
double max_over_ranks(double value, const std::string& name);

// The peak memory of this process, in MiB.
double peak_memory();
// The peak memory of its tensors, since reset_peak() of their allocator.
double peak_tensor_memory();

// The mean loss of a batch.
using Loss = std::function<hvd::Tensor(const hvd::Tensor& outputs,
                                       const hvd::Tensor& targets)>;
// Of outputs whose last dimension is the classes.
hvd::Tensor classification_loss(const hvd::Tensor& outputs,
                                const hvd::Tensor& targets);

class Trainer {
 public:
  //   std::runtime_error  there are fewer items than one step takes
  //   hvd::Error, InvalidArgument  a file cannot be read or written, or options
  //                                are invalid
  Trainer(models::ChainModel& model, const hvd::data::Dataset& dataset,
          const TrainerOptions& options, Loss loss = classification_loss);

  // Trains from the current state to the end. After each epoch the model is the
  // same on all ranks, running moments included. Then calls `after_epoch` with
  // the number of finished epochs, in evaluation mode.
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
  const Loss loss_;
  models::ChainModel& model_;
  hvd::data::DistributedSampler sampler_;
  hvd::data::DataLoader loader_;
  const std::int64_t steps_;  // Of an epoch.
  std::unique_ptr<hvd::DistributedOptimizer> optimizer_;
  std::unique_ptr<hvd::optim::LRScheduler> schedule_;
  std::unique_ptr<LossFile> losses_;  // On rank 0, if requested.
};
