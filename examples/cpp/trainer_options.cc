// SPDX-License-Identifier: Apache-2.0
#include "trainer_options.h"

#include <stdexcept>

namespace {

void add_checkpoint_option(CLI::App& app, TrainerOptions& options) {
  const auto parse = [&options](const std::string& text) {
    try {
      options.checkpointing = models::Checkpointing::parse(text);
    } catch (const std::exception& error) {
      throw CLI::ValidationError("--checkpoint", error.what());
    }
  };
  app.add_option_function<std::string>(
         "--checkpoint", parse,
         "recomputation in backward. none: no recomputation; block: each block "
         "of the model; sqrt: all but the last of sqrt(n) segments of its n "
         "stages; budget=BYTES: the fastest plan within so many bytes; "
         "online=BYTES: as much as the budget demands, decided during the run; "
         "plan=PLAN: the plan of a run with a budget. BYTES: as in 512MiB, or "
         "in percent of the bytes without recomputation. Results are the same, "
         "bit by bit")
      ->default_str("none");
}

}  // namespace

void add_options(CLI::App& app, TrainerOptions& options) {
  app.add_option("--epochs", options.epochs, "passes over the data")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch-size", options.batch_size, "items per step and rank")
      ->check(CLI::PositiveNumber);
  // Their defaults are not known yet.
  app.option_defaults()->always_capture_default(false);
  const char* by_model = "; the default depends on the model";
  app.add_option("--optimizer", options.optimizer,
                 std::string("sgd, with momentum, or adamw") + by_model)
      ->check(CLI::IsMember({"sgd", "adamw"}));
  app.add_option("--learning-rate", options.learning_rate,
                 std::string("step size after the warm-up; it falls to 0 along "
                             "a cosine") +
                     by_model)
      ->check(CLI::PositiveNumber);
  app.add_option("--weight-decay", options.weight_decay,
                 std::string("weight decay of the optimizer") + by_model)
      ->check(CLI::NonNegativeNumber);
  app.add_option("--warmup-epochs", options.warmup_epochs,
                 std::string("epochs, or fractions of one, in which the "
                             "learning rate rises linearly") +
                     by_model)
      ->check(CLI::NonNegativeNumber);
  app.option_defaults()->always_capture_default();
  app.add_option("--clip-norm", options.clip_norm,
                 "upper bound on the norm of all gradients; 0: none")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--momentum", options.momentum, "momentum of sgd")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option(
      "--compression", options.compression,
      "compression of gradients: none, fp16, bf16, int8, powersgd[=RANK], "
      "signs, or topk[=SHARE]. signs begins with an epoch of whole gradients. "
      "The share of topk falls during three quarters of an epoch; gradients of "
      "fewer than 1024 elements are sent whole. Both apply --momentum in place "
      "of sgd");
  app.add_option("--seed", options.seed, "seed of all random numbers");
  app.add_option("--workers", options.workers,
                 "threads of each rank that prepare batches")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--save", options.save,
                 "write checkpoints to this file, after each epoch");
  app.add_option("--save-every", options.save_every,
                 "also write one every this many steps; 0: never")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--resume", options.resume,
                 "continue from this checkpoint, with the same options");
  app.add_option("--loss-file", options.loss_file,
                 "write the loss of every step, over all ranks, to this file");
  add_checkpoint_option(app, options);
}

void apply_recipe(const CLI::App& app, const Recipe& recipe,
                  TrainerOptions& options) {
  if (app.count("--optimizer") == 0) options.optimizer = recipe.optimizer;
  if (app.count("--learning-rate") == 0) {
    options.learning_rate = recipe.learning_rate;
  }
  if (app.count("--weight-decay") == 0) {
    options.weight_decay = recipe.weight_decay;
  }
  if (app.count("--warmup-epochs") == 0) {
    options.warmup_epochs = recipe.warmup_epochs;
  }
}
