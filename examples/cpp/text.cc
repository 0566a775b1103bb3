// SPDX-License-Identifier: Apache-2.0
// Trains a language model on the bytes of a file over all ranks, and prints
// text that it generates.
//
//   horovodrun -np 2 build/release/examples/cpp/text README.md
//   ... --model lstm --save lstm.safetensors
#include <horovodpp/horovodpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/catalog.h"
#include "text_samples.h"
#include "trainer.h"

namespace {

struct Options {
  TrainerOptions training{.epochs = 20, .batch_size = 16, .clip_norm = 1.0};
  std::string model = "gpt";
  models::TextModelOptions size;
  std::string file = "/usr/share/common-licenses/GPL-3";
  double validation = 0.1;
  std::int64_t stride = 16;
  SampleOptions samples;
};

const std::map<std::string, Recipe>& recipes() {
  static const std::map<std::string, Recipe> all = {
      {"gpt",
       {.optimizer = "adamw",
        .learning_rate = 1e-3,
        .weight_decay = 0.1,
        .warmup_epochs = 1}},
      {"lstm",
       {.optimizer = "adamw", .learning_rate = 3e-3, .weight_decay = 0.01}}};
  return all;
}

void add_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("file", options.file, "the file to learn, of any kind");
  app.add_option("--model", options.model, "gpt or lstm")
      ->check(CLI::IsMember({"gpt", "lstm"}));
  app.add_option(
         "--width", options.size.width,
         "width of a GPT, a multiple of 32, or size of an LSTM's state; "
         "0: 128, 256")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--layers", options.size.layers,
                 "number of layers; 0: 4 for a GPT, 1 for an LSTM")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--context", options.size.context, "bytes in a window")
      ->check(CLI::PositiveNumber);
  app.add_option("--dropout", options.size.dropout, "dropout of a GPT")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--stride", options.stride,
                 "bytes from the start of a window to that of the next")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--validation", options.validation,
         "fraction of the file, at its end, that is held out for validation")
      ->check(CLI::Range(0.0, 0.9));
  app.add_option("--sample-bytes", options.samples.length,
                 "length of the samples")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--temperature", options.samples.temperature,
         "temperature of the samples: the lower, the less random they are")
      ->check(CLI::PositiveNumber);
  add_options(app, options.training);
}

// The mean loss per byte, in nats, over all ranks.
double validation_loss(hvd::nn::Module& model,
                       const hvd::data::TextWindows& windows) {
  const hvd::NoGrad no_grad;
  double sum = 0;
  for (std::int64_t i = hvd::rank(); i < windows.size(); i += hvd::size()) {
    const auto batch = windows.get_batch(std::span(&i, 1));
    const hvd::Tensor logits = model(batch[0]);
    sum += static_cast<double>(
        hvd::cross_entropy(logits.reshape({-1, logits.size(-1)}),
                           batch[1].reshape({-1}))
            .item<float>());
  }
  return sum_over_ranks(sum, "validation loss") /
         static_cast<double>(windows.size());
}

void report(hvd::nn::Module& model, std::int64_t epoch, double loss,
            const Options& options) {
  const double memory = max_over_ranks(peak_memory(), "memory");
  if (hvd::rank() != 0) return;
  if (options.validation > 0) {
    std::printf("  validation loss %.4f nats per byte, ", loss);
  } else {
    std::printf("  ");
  }
  std::printf("peak memory of a rank %.0f MiB\n", memory);
  if (options.samples.length > 0) {
    SampleOptions samples = options.samples;
    samples.seed = options.training.seed + static_cast<std::uint64_t>(epoch);
    std::printf("--- sample ---\n%s\n--------------\n",
                sample_text(model, samples).c_str());
  }
  std::fflush(stdout);
}

// The FNV-1a hash of a text, which identifies it in any location.
std::string fingerprint(const hvd::data::ByteText& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const hvd::Tensor& part : {text.train(), text.validation()}) {
    for (const std::uint8_t byte : part.to_vector<std::uint8_t>()) {
      hash = (hash ^ byte) * 0x100000001b3;
    }
  }
  return std::to_string(hash);
}

void run(const Options& options) {
  hvd::throw_if_error(hvd::init());
  hvd::manual_seed(options.training.seed);
  const auto text = hvd::data::ByteText::read(
      options.file, {.validation_fraction = options.validation});
  const hvd::data::TextWindows train(
      text.train(), {.length = options.size.context, .stride = options.stride});
  std::unique_ptr<hvd::data::TextWindows> validation;
  if (options.validation > 0) {
    validation = std::make_unique<hvd::data::TextWindows>(
        text.validation(),
        hvd::data::TextWindowsOptions{.length = options.size.context});
  }
  const auto model = models::make_text_model(options.model, options.size);
  TrainerOptions training = options.training;
  training.settings["text"] = fingerprint(text);
  Trainer trainer(*model, train, training);
  trainer.run([&](std::int64_t epoch) {
    const double loss =
        validation == nullptr ? 0 : validation_loss(*model, *validation);
    report(*model, epoch, loss, options);
  });
  hvd::throw_if_error(hvd::shutdown());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a language model on the bytes of a file");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  TrainerOptions& training = options.training;
  apply_recipe(app, recipes().at(options.model), training);
  training.unit = "tokens";
  training.units_per_item = options.size.context;
  options.samples.context = options.size.context;
  training.settings = {{"model", options.model},
                       {"width", std::to_string(options.size.width)},
                       {"layers", std::to_string(options.size.layers)},
                       {"context", std::to_string(options.size.context)},
                       {"dropout", std::to_string(options.size.dropout)},
                       {"stride", std::to_string(options.stride)},
                       {"validation", std::to_string(options.validation)}};
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "text: %s\n", error.what());
    return 1;
  }
}
