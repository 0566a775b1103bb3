// SPDX-License-Identifier: Apache-2.0
// The options of the training programs, on their command lines and in a Trainer.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "checkpoint.h"
#include "models/checkpointing.h"

struct TrainerOptions {
  std::int64_t epochs = 5;
  std::int64_t batch_size = 64;   // Items of one rank.
  std::string optimizer = "sgd";  // Or "adamw".
  double learning_rate = 0.05;    // After the warm-up.
  double weight_decay = 0.0;
  double momentum = 0.9;  // Of sgd.
  double warmup_epochs = 0.0;
  double clip_norm = 0.0;            // Of all gradients; 0: not clipped.
  std::string compression = "none";  // See compression.h.
  std::uint64_t seed = 42;  // Of weights, order, and all other random numbers.
  int workers = 1;          // Threads of each rank that prepare batches.
  std::string save = {};    // File; empty: no checkpoints.
  std::int64_t save_every = 0;  // Steps; 0: at the end of epochs only.
  std::string resume = {};      // File; empty: from the beginning.
  // The loss of every step; empty: none. A run that is resumed goes on in it.
  std::string loss_file = {};
  models::Checkpointing checkpointing = {};
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
