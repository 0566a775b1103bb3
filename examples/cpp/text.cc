// SPDX-License-Identifier: Apache-2.0
// Trains a language model on the bytes of a file, or on its tokens, over all
// ranks, and prints text that it generates.
//
//   horovodrun -np 2 build/release/examples/cpp/text README.md
//   ... --model lstm --save lstm.safetensors
//   ... --model llama --generate 500 --prompt "The " --top-p 0.9
//   ... readme.tokens --tokenizer tokenizer.json   # Of the example tokenize.
#include <horovodpp/horovodpp.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "masked_windows.h"
#include "models/catalog.h"
#include "text_corpus.h"
#include "text_samples.h"
#include "trainer.h"

namespace {

struct Options {
  TrainerOptions training{.epochs = 20, .batch_size = 16, .clip_norm = 1.0};
  std::string model = "gpt";
  models::TextModelOptions size;
  std::string file = "/usr/share/common-licenses/GPL-3";
  std::string tokenizer;
  TextCorpusOptions windows;
  SampleOptions samples;
  std::int64_t generated = 0;  // Bytes or tokens, at the end.

  bool masks() const { return model == "bert"; }
};

const std::map<std::string, Recipe>& recipes() {
  static const std::map<std::string, Recipe> all = {
      {"gpt",
       {.optimizer = "adamw",
        .learning_rate = 1e-3,
        .weight_decay = 0.1,
        .warmup_epochs = 1}},
      {"llama",
       {.optimizer = "adamw",
        .learning_rate = 2e-3,
        .weight_decay = 0.1,
        .warmup_epochs = 1}},
      {"llama-15m",
       {.optimizer = "adamw",
        .learning_rate = 1e-3,
        .weight_decay = 0.1,
        .warmup_epochs = 0.1}},
      {"bert",
       {.optimizer = "adamw",
        .learning_rate = 1e-3,
        .weight_decay = 0.01,
        .warmup_epochs = 1}},
      {"lstm",
       {.optimizer = "adamw", .learning_rate = 3e-3, .weight_decay = 0.01}}};
  return all;
}

void add_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("file", options.file,
                 "the file to learn, of any kind; with --tokenizer one that "
                 "the program `tokenize` wrote");
  app.add_option(
      "--tokenizer", options.tokenizer,
      "the tokenizer.json of that file: learn its tokens, not bytes");
  std::vector<std::string> names;
  for (const auto& [name, recipe] : recipes()) names.push_back(name);
  app.add_option("--model", options.model,
                 "the model to train; bert predicts masked bytes, the others "
                 "the next one")
      ->check(CLI::IsMember(names));
  app.add_option("--width", options.size.width,
                 "width of a transformer, a multiple of 32, of llama-15m of "
                 "64; or size of an LSTM's state; 0: 128, 384, 256")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--layers", options.size.layers,
                 "number of layers; 0: 4 for a transformer, 9 for llama-15m, "
                 "1 for an LSTM")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--context", options.size.context,
                 "bytes or tokens in a window")
      ->check(CLI::PositiveNumber);
  app.add_option("--key-heads", options.size.key_heads,
                 "heads of keys and values of a Llama, which divide its heads; "
                 "0: half of these")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--window", options.size.window,
         "bytes or tokens that each sees in a Llama's attention; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--dropout", options.size.dropout, "dropout of a GPT or BERT")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--stride", options.windows.stride,
                 "bytes or tokens from the start of a window to that of the "
                 "next")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--validation", options.windows.validation,
         "fraction of the file, at its end, that is held out for validation")
      ->check(CLI::Range(0.0, 0.9));
  app.add_option("--sample-bytes", options.samples.length,
                 "length of the samples, in bytes or tokens")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--temperature", options.samples.sampling.temperature,
         "temperature of generated text: the lower, the less random it is; 0: "
         "the likeliest")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--top-k", options.samples.sampling.top_k,
                 "draw only from this many bytes or tokens, the likeliest; 0: "
                 "from all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--top-p", options.samples.sampling.top_p,
                 "draw only from the likeliest that together have this "
                 "probability")
      ->check(CLI::Range(1e-9, 1.0));
  app.add_option(
         "--generate", options.generated,
         "at the end, generate this many bytes or tokens after the prompt")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--prompt", options.samples.prompt,
                 "the beginning of generated text");
  add_options(app, options.training);
}

// The mean loss per byte or token, in nats, over all ranks.
double validation_loss(hvd::nn::Module& model,
                       const hvd::data::Dataset& windows) {
  const hvd::NoGrad no_grad;
  double sum = 0;
  for (std::int64_t i = hvd::rank(); i < windows.size(); i += hvd::size()) {
    const auto batch = windows.get_batch(std::span(&i, 1));
    sum += static_cast<double>(
        classification_loss(model(batch[0]), batch[1]).item<float>());
  }
  return sum_over_ranks(sum, "validation loss") /
         static_cast<double>(windows.size());
}

void report(hvd::nn::Module& model, const TextCorpus& corpus,
            std::int64_t epoch, double loss, const Options& options) {
  const double memory = max_over_ranks(peak_memory(), "memory");
  if (hvd::rank() != 0) return;
  if (corpus.validation() != nullptr) {
    std::printf("  validation loss %.4f nats per %s, ", loss,
                corpus.unit().c_str());
  } else {
    std::printf("  ");
  }
  std::printf("peak memory of a rank %.0f MiB\n", memory);
  if (options.samples.length > 0 && !options.masks()) {
    SampleOptions samples = options.samples;
    samples.seed = options.training.seed + static_cast<std::uint64_t>(epoch);
    std::printf("--- sample ---\n%s\n--------------\n",
                sample_text(model, corpus, samples).c_str());
  }
  std::fflush(stdout);
}

void show_generated(hvd::nn::Module& model, const TextCorpus& corpus,
                    const Options& options) {
  SampleOptions samples = options.samples;
  samples.length = options.generated;
  samples.seed = options.training.seed;
  model.eval();
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = sample_text(model, corpus, samples);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  std::printf("--- generated ---\n%s%s\n-----------------\n",
              samples.prompt.c_str(), text.c_str());
  std::printf("  %.0f %ss/s\n",
              static_cast<double>(options.generated) / took.count(),
              corpus.unit().c_str());
  std::fflush(stdout);
}

void check(const Options& options) {
  if (options.masks() && options.generated > 0) {
    throw std::runtime_error(
        "bert predicts masked bytes, and generates no text; leave out "
        "--generate");
  }
  if (options.masks() && !options.tokenizer.empty()) {
    throw std::runtime_error(
        "bert learns masked bytes; leave out --tokenizer, or choose another "
        "--model");
  }
  if (options.samples.prompt.empty()) {
    throw std::runtime_error("the prompt is empty; wanted is a byte or more");
  }
}

std::unique_ptr<TextCorpus> read_corpus(const Options& options) {
  return options.tokenizer.empty()
             ? read_bytes(options.file, options.windows)
             : read_tokens(options.file, options.tokenizer, options.windows);
}

void run(const Options& options) {
  hvd::throw_if_error(hvd::init());
  hvd::manual_seed(options.training.seed);
  check(options);
  const std::unique_ptr<TextCorpus> corpus = read_corpus(options);
  const MaskedWindows masked(corpus->train());
  const auto dataset =
      [&](const hvd::data::Dataset& windows,
          const MaskedWindows& with_masks) -> const hvd::data::Dataset& {
    if (options.masks()) return with_masks;
    return windows;
  };
  models::TextModelOptions size = options.size;
  size.vocabulary = corpus->vocabulary();
  const auto model = models::make_text_model(options.model, size);
  TrainerOptions training = options.training;
  training.settings["text"] = corpus->fingerprint();
  Trainer trainer(*model, dataset(corpus->train(), masked), training);
  trainer.run([&](std::int64_t epoch) {
    double loss = 0;
    if (const hvd::data::Dataset* held_out = corpus->validation()) {
      const MaskedWindows with_masks(*held_out);
      loss = validation_loss(*model, dataset(*held_out, with_masks));
    }
    report(*model, *corpus, epoch, loss, options);
  });
  if (options.generated > 0 && hvd::rank() == 0)
    show_generated(*model, *corpus, options);
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
  options.windows.length = options.size.context;
  options.samples.context = options.size.context;
  training.settings = {
      {"model", options.model},
      {"width", std::to_string(options.size.width)},
      {"layers", std::to_string(options.size.layers)},
      {"context", std::to_string(options.size.context)},
      {"dropout", std::to_string(options.size.dropout)},
      {"stride", std::to_string(options.windows.stride)},
      {"validation", std::to_string(options.windows.validation)}};
  if (options.model.starts_with("llama")) {
    training.settings["key-heads"] = std::to_string(options.size.key_heads);
    training.settings["window"] = std::to_string(options.size.window);
  }
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "text: %s\n", error.what());
    return 1;
  }
}
