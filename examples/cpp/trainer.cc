// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include "compression.h"
#include "progress_bar.h"

namespace {

constexpr double kWarmupStart = 0.01;  // Of the learning rate.

std::unique_ptr<hvd::optim::Optimizer> make_optimizer(
    const hvd::nn::Module& model, const TrainerOptions& options,
    double momentum) {
  if (options.optimizer == "adamw") {
    return std::make_unique<hvd::optim::AdamW>(
        model.named_parameters(),
        hvd::optim::AdamWOptions{.learning_rate = options.learning_rate,
                                 .weight_decay = options.weight_decay});
  }
  return std::make_unique<hvd::optim::SGD>(
      model.named_parameters(),
      hvd::optim::SGDOptions{.learning_rate = options.learning_rate,
                             .momentum = momentum,
                             .weight_decay = options.weight_decay});
}

hvd::optim::Schedule make_schedule(const TrainerOptions& options,
                                   std::int64_t steps) {
  using namespace hvd::optim;
  const std::int64_t total = options.epochs * steps;
  const auto warmup = std::min<std::int64_t>(
      std::llround(options.warmup_epochs * static_cast<double>(steps)),
      total - 1);
  const Schedule falling = cosine_annealing_lr({.max_steps = total - warmup});
  if (warmup <= 0) return falling;
  return sequential_lr(
      {linear_lr({.start_factor = kWarmupStart, .total_steps = warmup}),
       falling},
      {warmup});
}

// Called before members that need at least one step are created.
const hvd::data::Dataset& checked(const hvd::data::Dataset& dataset,
                                  const TrainerOptions& options) {
  const std::int64_t step = options.batch_size * hvd::size();
  if (dataset.size() >= step) return dataset;
  throw std::runtime_error(std::to_string(dataset.size()) + " " + options.unit +
                           " are fewer than one step of all ranks takes (" +
                           std::to_string(step) + ")");
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

Checkpoint::Settings all_settings(const TrainerOptions& options) {
  Checkpoint::Settings settings = options.settings;
  settings["ranks"] = std::to_string(hvd::size());
  settings["epochs"] = std::to_string(options.epochs);
  settings["batch-size"] = std::to_string(options.batch_size);
  settings["optimizer"] = options.optimizer;
  settings["learning-rate"] = text_of(options.learning_rate);
  settings["weight-decay"] = text_of(options.weight_decay);
  settings["warmup-epochs"] = text_of(options.warmup_epochs);
  settings["clip-norm"] = text_of(options.clip_norm);
  settings["momentum"] = text_of(options.momentum);
  settings["compression"] = options.compression;
  settings["seed"] = std::to_string(options.seed);
  return settings;
}

double reduce(double value, const std::string& name, hvd::ReduceOp op) {
  hvd::throw_if_error(hvd::allreduce_(hvd::TensorView::of(&value, {1}),
                                      {.name = name, .op = op}));
  return value;
}

}  // namespace

double sum_over_ranks(double value, const std::string& name) {
  return reduce(value, name, hvd::ReduceOp::kSum);
}

double max_over_ranks(double value, const std::string& name) {
  return reduce(value, name, hvd::ReduceOp::kMax);
}

double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double peak_tensor_memory() {
  const auto bytes = hvd::autograd::cpu_allocator().stats().peak_bytes;
  return static_cast<double>(bytes) / (1 << 20);
}

hvd::Tensor classification_loss(const hvd::Tensor& outputs,
                                const hvd::Tensor& targets) {
  return hvd::cross_entropy(outputs.reshape({-1, outputs.size(-1)}),
                            targets.reshape({-1}));
}

Trainer::Trainer(models::ChainModel& model, const hvd::data::Dataset& dataset,
                 const TrainerOptions& options, Loss loss)
    : options_(options),
      loss_(std::move(loss)),
      model_(model),
      sampler_(checked(dataset, options).size(), {.num_replicas = hvd::size(),
                                                  .rank = hvd::rank(),
                                                  .seed = options.seed,
                                                  .drop_last = true}),
      loader_(dataset, sampler_,
              {.batch_size = options.batch_size,
               .workers = options.workers,
               .drop_last = true,
               .seed = options.seed}),
      steps_(loader_.num_batches()) {
  model.set_checkpointing(options.checkpointing);
  hvd::broadcast_parameters(model.named_parameters(), 0);
  // So that ranks drop different units.
  hvd::manual_seed(options.seed + 1 + static_cast<std::uint64_t>(hvd::rank()));
  Compression compression =
      make_compression(options.compression, steps_, options.momentum);
  optimizer_ = std::make_unique<hvd::DistributedOptimizer>(
      make_optimizer(model, options,
                     compression.has_momentum ? 0.0 : options.momentum),
      hvd::optim::DistributedOptions{
          .groups = compression.compressor == nullptr ? 0 : 1,
          .compression = std::move(compression.compressor)});
  schedule_ = std::make_unique<hvd::optim::LRScheduler>(
      *optimizer_, make_schedule(options, steps_));
  if (!options.save.empty()) Checkpoint::check_writable(options.save);
  if (!options.resume.empty()) checkpoint().load(options.resume);
  if (hvd::rank() == 0 && !options.loss_file.empty()) {
    losses_ =
        std::make_unique<LossFile>(options.loss_file, schedule_->num_steps());
  }
}

// Write losses first, so that they are never behind a checkpoint.
void Trainer::save() {
  if (losses_ != nullptr) losses_->flush();
  if (!options_.save.empty()) checkpoint().save(options_.save);
}

Checkpoint Trainer::checkpoint() {
  return Checkpoint({model_, *optimizer_, *schedule_, sampler_},
                    all_settings(options_));
}

std::int64_t Trainer::step_of_epoch() const {
  return sampler_.position() / options_.batch_size;
}

void Trainer::run(const std::function<void(std::int64_t epoch)>& after_epoch) {
  if (sampler_.epoch() >= options_.epochs) {
    if (hvd::rank() == 0) std::printf("All epochs are done already.\n");
    save();
  }
  for (std::int64_t epoch = sampler_.epoch(); epoch < options_.epochs;
       ++epoch) {
    sampler_.set_epoch(epoch);
    model_.train();
    train_epoch(epoch);
    // Each rank has seen other images.
    hvd::broadcast_parameters(model_.named_buffers(), 0);
    save();
    model_.eval();
    after_epoch(epoch + 1);
  }
}

void Trainer::train_epoch(std::int64_t epoch) {
  const std::int64_t first = step_of_epoch();
  ProgressBar bar({.label = "epoch " + std::to_string(epoch + 1) + "/" +
                            std::to_string(options_.epochs),
                   .total = steps_,
                   .first = first,
                   .units_per_step = options_.batch_size * hvd::size() *
                                     options_.units_per_item,
                   .unit = options_.unit,
                   .visible = hvd::rank() == 0});
  double sum = 0;
  std::int64_t done = first;
  hvd::Tensor input;
  hvd::autograd::cpu_allocator().reset_peak();
  const auto exposed_before = optimizer_->exposed_communication();
  const auto begin = std::chrono::steady_clock::now();
  for (const hvd::data::Batch& batch : loader_.iterate()) {
    sum += train_step(batch);
    ++done;
    bar.show(done, sum / static_cast<double>(done - first),
             peak_tensor_memory());
    input = batch[0];
    const bool due = options_.save_every > 0 &&
                     schedule_->num_steps() % options_.save_every == 0;
    if (due && done < steps_) save();
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const std::chrono::duration<double> exposed =
      optimizer_->exposed_communication() - exposed_before;
  const auto count = static_cast<double>((done - first) * hvd::size());
  bar.finish(sum_over_ranks(sum, "epoch loss") / std::max(count, 1.0),
             max_over_ranks(peak_tensor_memory(), "tensor memory"));
  if (hvd::rank() == 0 && hvd::size() > 1 && done > first) {
    std::printf(
        "  waited for other ranks: %.2f %% of the time, %.3f ms a step\n",
        100 * exposed.count() / took.count(),
        1e3 * exposed.count() / static_cast<double>(done - first));
  }
  if (hvd::rank() == 0 && input.defined()) show_checkpointing(input);
  if (hvd::rank() == 0 && options_.compression != "none") show_compression();
}

void Trainer::show_compression() {
  const hvd::replica::ReducerStats stats = optimizer_->reduced();
  std::printf("  sent %.2f %% of the gradients' bytes so far\n",
              100 * static_cast<double>(stats.sent_bytes) /
                  static_cast<double>(stats.bytes));
}

// Shows the result of the budget, if there is one.
void Trainer::show_checkpointing(const hvd::Tensor& input) {
  using Form = models::Checkpointing::Form;
  if (options_.checkpointing.form == Form::kBudget) {
    std::printf("  plan %s\n", model_.plan_for(input).to_string().c_str());
  } else if (options_.checkpointing.form == Form::kOnline) {
    const hvd::MemoryBudgetStats& stats = model_.online_stats();
    std::printf("  recomputed %lld of %lld regions\n",
                static_cast<long long>(stats.dropped),
                static_cast<long long>(stats.regions));
  }
}

double Trainer::train_step(const hvd::data::Batch& batch) {
  optimizer_->zero_grad();
  const hvd::Tensor loss = loss_(model_(batch[0]), batch[1]);
  loss.backward();
  if (options_.clip_norm > 0) {
    optimizer_->synchronize();
    hvd::clip_grad_norm_(model_.parameters(), options_.clip_norm);
    auto skip = optimizer_->skip_synchronize();
    optimizer_->step();
  } else {
    optimizer_->step();
  }
  schedule_->step();
  const double value = static_cast<double>(loss.item<float>());
  if (!options_.loss_file.empty()) {
    const double mean = sum_over_ranks(value, "loss") / hvd::size();
    if (losses_ != nullptr) losses_->add(mean);
  }
  return value;
}
