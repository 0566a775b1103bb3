// SPDX-License-Identifier: Apache-2.0
// The options of the training programs, on their command lines and in a
// Trainer.
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
  double clip_norm = 0.0;            // Norm of all gradients; 0: no clipping.
  std::string compression = "none";  // See compression.h.
  std::uint64_t seed = 42;  // Of weights, order and all other random numbers.
  int workers = 1;          // Threads of each rank that prepare batches.
  std::string save = {};    // File; empty: no checkpoints.
  std::int64_t save_every = 0;  // Steps; 0: at the end of epochs only.
  std::string resume = {};      // File; empty: start anew.
  // A file for the loss of every step; empty: none. A resumed run continues it.
  std::string loss_file = {};
  models::Checkpointing checkpointing = {};
  std::string unit = "images";      // The unit in which items are counted.
  std::int64_t units_per_item = 1;  // The units of one item.
  // Other settings that the weights depend on.
  Checkpoint::Settings settings = {};
};

// Adds options for all fields but the last three. `recipe` has the defaults
// that depend on the model, once the command line is known.
void add_options(CLI::App& app, TrainerOptions& options);

struct Recipe {
  std::string optimizer = "sgd";
  double learning_rate = 0.05;
  double weight_decay = 0.0;
  double warmup_epochs = 0.0;
};
// Takes settings that the command line omits from `recipe`.
void apply_recipe(const CLI::App& app, const Recipe& recipe,
                  TrainerOptions& options);
