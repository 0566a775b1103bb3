// SPDX-License-Identifier: Apache-2.0
// Trains a model on Fashion-MNIST, or on a folder of images, over all ranks.
//
//   horovodrun -np 2 build/release/examples/cpp/fashion_mnist --epochs 5
//   ... --model resnet18 --augment --epochs 10 --save resnet.safetensors
//   ... --model unet --epochs 2          # Learns to remove noise.
#include <horovodpp/horovodpp.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "denoising_images.h"
#include "fashion_mnist_data.h"
#include "folder_images.h"
#include "models/catalog.h"
#include "trainer.h"

namespace {

struct Options {
  TrainerOptions training;
  std::string model = "mlp";
  std::int64_t width = 0;
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string image_folder;  // Empty: Fashion-MNIST.
  FashionMnistOptions images;
};

const std::map<std::string, Recipe>& recipes() {
  static const std::map<std::string, Recipe> all = {
      {"mlp", {}},
      {"lenet", {.learning_rate = 0.05, .weight_decay = 5e-4}},
      {"resnet18",
       {.learning_rate = 0.1, .weight_decay = 5e-4, .warmup_epochs = 0.5}},
      {"resnet50",
       {.learning_rate = 0.1, .weight_decay = 5e-4, .warmup_epochs = 0.5}},
      {"densenet",
       {.learning_rate = 0.1, .weight_decay = 1e-4, .warmup_epochs = 0.5}},
      {"swin",
       {.optimizer = "adamw",
        .learning_rate = 1e-3,
        .weight_decay = 0.05,
        .warmup_epochs = 1}},
      {"vit",
       {.optimizer = "adamw",
        .learning_rate = 1e-3,
        .weight_decay = 0.05,
        .warmup_epochs = 1}},
      {"gru",
       {.optimizer = "adamw", .learning_rate = 2e-3, .weight_decay = 0.01}},
      {"unet",
       {.optimizer = "adamw", .learning_rate = 1e-3, .warmup_epochs = 0.2}}};
  return all;
}

void add_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  std::vector<std::string> names;
  for (const auto& [name, recipe] : recipes()) names.push_back(name);
  app.add_option("--model", options.model, "the model to train")
      ->check(CLI::IsMember(names));
  app.add_option(
         "--width", options.width,
         "channels of a ResNet's stem, growth of a DenseNet, width of a "
         "Swin's first stage or of a ViT, size of a GRU's state, channels of a "
         "U-Net's largest scale; 0: 64, 12, 48, 64, 128, 32")
      ->check(CLI::NonNegativeNumber);
  add_options(app, options.training);
  app.add_flag("--augment", options.images.augment,
               "shift and mirror images at random");
  app.add_option("--data", options.data, "directory with the four .gz files");
  auto* limit = app.add_option("--limit", options.images.limit,
                               "use only this many images; 0: all")
                    ->check(CLI::NonNegativeNumber);
  app.add_option("--image-folder", options.image_folder,
                 "learn the PNG and JPEG files in DIR/train/CLASS/, and test "
                 "with those in DIR/test/CLASS/, gray and of 28x28 pixels")
      ->type_name("DIR")
      ->excludes(limit);
}

// The mean over all items, and all ranks, of a score that `sum` adds up over a
// batch's outputs and targets.
template <typename Sum>
double mean_score(hvd::nn::Module& model, const hvd::data::Dataset& items,
                  Sum sum) {
  constexpr std::int64_t kBatch = 100;
  const hvd::NoGrad no_grad;
  std::vector<std::int64_t> mine;
  for (std::int64_t i = hvd::rank(); i < items.size(); i += hvd::size()) {
    mine.push_back(i);
  }
  const std::span<const std::int64_t> all(mine);
  double total = 0;
  for (std::size_t first = 0; first < all.size(); first += kBatch) {
    const auto batch = items.get_batch(
        all.subspan(first, std::min<std::size_t>(kBatch, all.size() - first)));
    total += sum(model(batch[0]), batch[1]);
  }
  return sum_over_ranks(total, "score") / static_cast<double>(items.size());
}

// The number of correctly classified images.
double right_guesses(const hvd::Tensor& outputs, const hvd::Tensor& targets) {
  const auto guesses = outputs.argmax().to_vector<std::int64_t>();
  const auto labels = targets.to_vector<std::int64_t>();
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    right += guesses[i] == labels[i];
  }
  return right;
}

hvd::Tensor noise_loss(const hvd::Tensor& outputs, const hvd::Tensor& noise) {
  return hvd::mse_loss(outputs, noise);
}

// The loss of each image, added up.
double noise_losses(const hvd::Tensor& outputs, const hvd::Tensor& noise) {
  return static_cast<double>(noise_loss(outputs, noise).item<float>()) *
         static_cast<double>(outputs.size(0));
}

void report(double score, bool denoises) {
  const double memory = max_over_ranks(peak_memory(), "memory");
  if (hvd::rank() != 0) return;
  if (denoises) {
    std::printf("  test error of the noise %.4f of its variance, ", score);
  } else {
    std::printf("  test accuracy %.2f %%, ", 100 * score);
  }
  std::printf("peak memory of a rank %.0f MiB\n", memory);
  std::fflush(stdout);
}

struct Images {
  std::unique_ptr<hvd::data::Dataset> train;
  std::unique_ptr<hvd::data::Dataset> test;
};

Images open_files(const Options& options) {
  return {.train = std::make_unique<FashionMnist>(options.data, "train",
                                                  options.images),
          .test = std::make_unique<FashionMnist>(
              options.data, "t10k",
              FashionMnistOptions{.limit = options.images.limit})};
}

Images open_folders(const Options& options) {
  auto train = std::make_unique<FolderImages>(
      options.image_folder + "/train",
      FolderImagesOptions{.augment = options.images.augment});
  auto test = std::make_unique<FolderImages>(options.image_folder + "/test");
  if (train->classes() != test->classes()) {
    throw std::runtime_error("'" + options.image_folder +
                             "': train and test have other subfolders");
  }
  return {.train = std::move(train), .test = std::move(test)};
}

void run(const Options& options) {
  hvd::throw_if_error(hvd::init());
  hvd::manual_seed(options.training.seed);
  const Images images = options.image_folder.empty() ? open_files(options)
                                                     : open_folders(options);
  const auto model = models::make_image_model(options.model, options.width);
  const bool denoises = options.model == "unet";
  const DenoisingImages noisy_train(*images.train);
  const DenoisingImages noisy_test(*images.test);
  if (denoises) {
    Trainer(*model, noisy_train, options.training, noise_loss)
        .run([&](std::int64_t) {
          report(mean_score(*model, noisy_test, noise_losses), denoises);
        });
  } else {
    Trainer(*model, *images.train, options.training).run([&](std::int64_t) {
      report(mean_score(*model, *images.test, right_guesses), denoises);
    });
  }
  hvd::throw_if_error(hvd::shutdown());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a model on Fashion-MNIST");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  apply_recipe(app, recipes().at(options.model), options.training);
  options.training.settings = {
      {"model", options.model},
      {"width", std::to_string(options.width)},
      {"limit", std::to_string(options.images.limit)},
      {"augment", options.images.augment ? "yes" : "no"}};
  if (!options.image_folder.empty()) {
    options.training.settings["image-folder"] = options.image_folder;
  }
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
    return 1;
  }
}
