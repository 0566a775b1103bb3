// SPDX-License-Identifier: Apache-2.0
// The names that snippets take from the text around them. Each snippet is a
// member function of a struct derived from the struct of its name, or from
// Common.
#pragma once

#include <dlfcn.h>
#include <horovodpp/horovodpp.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "horovodpp/device/cuda_api.h"

struct snippet {
  const char* place;  // Page, line and name.
  int (*run)();
  int in_a_job;  // Whether it expects hvd::init() to have been called.
};

// Runs all snippets in every rank.
inline int run_snippets(const snippet* snippets, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::cerr << snippets[i].place << std::endl;  // A crash says where.
    try {
      if (snippets[i].in_a_job) hvd::throw_if_error(hvd::init());
      hvd::manual_seed(7);
      if (snippets[i].run() != 0) return 1;
      hvd::throw_if_error(hvd::shutdown());
    } catch (const std::exception& error) {
      std::cerr << snippets[i].place << ": " << error.what() << "\n";
      return 1;
    }
  }
  std::cerr << count << " snippets ran\n";
  return 0;
}

// Of a text: logits for each of its characters.
struct Net : hvd::nn::Module {
  Net() {
    register_module("table", table);
    register_module("head", head);
  }
  hvd::Tensor forward(const hvd::Tensor& input) override {
    return (*head)((*table)(input).reshape({-1, 8}));
  }
  std::shared_ptr<hvd::nn::Embedding> table =
      std::make_shared<hvd::nn::Embedding>(256, 8);
  std::shared_ptr<hvd::nn::Linear> head =
      std::make_shared<hvd::nn::Linear>(8, 256);
};

struct Common {
  hvd::Tensor images = hvd::randn({128, 784});
  hvd::Tensor labels = (hvd::rand({128}) * 10).to(hvd::DType::kI64);
  hvd::Tensor input = hvd::randn({8, 4});
  hvd::Tensor x = hvd::randn({8, 4}, {.requires_grad = true});
  inline static hvd::Tensor w = hvd::randn({4, 4}, {.requires_grad = true});
  hvd::nn::Linear model{4, 4};
  hvd::optim::AdamW optimizer{model.named_parameters(),
                              hvd::optim::AdamWOptions{}};
  hvd::optim::LRScheduler schedule{
      optimizer, hvd::optim::cosine_annealing_lr({.max_steps = 10})};
  hvd::data::DistributedSampler sampler{
      128, {.num_replicas = 1, .rank = 0}};  // Of one job or another.
  std::string path = "some bytes";
  std::vector<float> gradient = std::vector<float>(256 * 784);
  float* grad = gradient.data();
};

struct Text : Common {
  Text() {
    std::ofstream file(path = "text." + std::to_string(getpid()));
    for (int line = 0; line < 1000; ++line)
      file << "line " << line << ": to be or not to be\n";
  }
  std::int64_t epochs = 1;
};
struct training_program : Text {
  using Net = ::Net;
};
struct step_in_one_call : Text {
  Net model;
  hvd::data::ByteText text = hvd::data::ByteText::read(path);
  hvd::data::TextWindows windows{text.train(), {.length = 64}};
  hvd::data::DistributedSampler sampler{
      windows.size(), {.num_replicas = hvd::size(), .rank = hvd::rank()}};
  hvd::data::DataLoader loader{windows, sampler, {.batch_size = 64}};
  hvd::DistributedOptimizer distributed{std::make_unique<hvd::optim::SGD>(
      model.named_parameters(), hvd::optim::SGDOptions{.learning_rate = 0.1})};
};

struct tokenizer : Common {
  tokenizer() {
    std::ofstream file(path = "tokenizer." + std::to_string(getpid()));
    file << R"({"model":{"type":"BPE","vocab":{"Ġ":0,"b":1,"e":2,"n":3,"o":4,)"
         << R"("r":5,"t":6,"to":7},"merges":["t o"]},)"
         << R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}})";
  }
};

struct token_file : tokenizer {
  hvd::data::Tokenizer tokenizer = hvd::data::Tokenizer::read(path);
  // One file for all ranks.
  token_file() { path = hvd::broadcast_object(path + ".ids", 0); }
};

struct image_folder : Common {
  image_folder() {
    // One gray pixel.
    const std::string png(
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\b\0\0\0\0:~"
        "\x9bU\0\0\0\n"
        "IDATx\x9c"
        "ch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xae"
        "B`\x82",
        67);
    path = "photos." + std::to_string(getpid());
    for (const char* name : {"/cat", "/dog"}) {
      std::filesystem::create_directories(path + name);
      std::ofstream(path + name + "/1.png", std::ios::binary) << png;
    }
  }
};

struct csv_file : Common {
  csv_file() {
    std::ofstream(path = "houses.csv." + std::to_string(getpid()))
        << "area;rooms;price;city\n90.5;3;1e5;Rome\n120;;2e5;\"Bonn\"\n";
  }
};

struct worked_example : Common {
  static hvd::Tensor leaf(double value) {
    return hvd::full({}, value,
                     {.dtype = hvd::DType::kF64, .requires_grad = true});
  }
  hvd::Tensor input = hvd::ones({2, 2}, {.dtype = hvd::DType::kF64});
  hvd::Tensor w1 = leaf(2), w2 = leaf(3), w3 = leaf(4);
};

struct planned_chain : Common {
  std::vector<hvd::ChainFunction> blocks = std::vector<hvd::ChainFunction>(
      8, [](const hvd::Tensor& in) { return hvd::tanh(hvd::linear(in, w)); });
};

struct contrastive_loss : Common {
  hvd::Tensor image_features = hvd::randn({32, 8}, {.requires_grad = true});
  hvd::Tensor text_features = hvd::randn({32, 8}, {.requires_grad = true});
};

struct module_hook : Common {
  std::shared_ptr<hvd::nn::Linear> layer =
      std::make_shared<hvd::nn::Linear>(4, 4);
};

struct parameter_groups : Common {
  std::vector<hvd::nn::NamedTensor> matrices = {{"w", w}};
  std::vector<hvd::nn::NamedTensor> the_rest = model.named_parameters();
};

struct Saved : Common {
  explicit Saved(const char* file) {
    hvd::nn::StateDict all = hvd::nn::with_prefix("model.", model.state_dict());
    hvd::nn::append(all,
                    hvd::nn::with_prefix("optimizer.", optimizer.state_dict()));
    hvd::nn::append(all,
                    hvd::nn::with_prefix("schedule.", schedule.state_dict()));
    hvd::nn::append(all, {{"sampler", sampler.state()}});
    if (hvd::rank() == 0) hvd::nn::save_safetensors(file, all);
    hvd::throw_if_error(hvd::barrier());
  }
};
struct load_checkpoint : Saved {
  load_checkpoint() : Saved("checkpoint.safetensors") {}
};
struct tutorial_load : Saved {
  tutorial_load() : Saved("train.safetensors") {}
};

struct own_loop_reducer : Common {
  static constexpr int kW2 = 16, kSymbols = 8, kHidden = 4;
  std::vector<float> sums = std::vector<float>(kW2 + kSymbols * kHidden, 1.0f);
  hvd::TensorView step_sum =
      hvd::TensorView::of(sums.data(), {kW2 + kSymbols * kHidden});
};

// A trainer that knows nothing of horovodpp.
struct own_loop_changes {
  static constexpr std::int64_t n = 4;
  std::size_t samples = 10;
  int steps = 2;
  std::vector<std::size_t> mine;
  std::vector<float> weights = std::vector<float>(n), gradients = weights;
  static void backward(const std::vector<std::size_t>& samples,
                       const std::vector<float>& weights,
                       std::vector<float>& gradients) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      gradients[i] = weights[i] - static_cast<float>(samples.size());
    }
  }
  static void update(std::vector<float>& weights,
                     const std::vector<float>& gradients) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= 0.1f * gradients[i];
    }
  }
};
struct own_loop_by_key {
  std::vector<float> gradient = std::vector<float>(10 * 256 + 256 * 784);
  float* grad = gradient.data();
};
struct own_loop_arena {
  static constexpr std::int64_t n = 4;
};

// By the fake CUDA driver: HOROVODPP_CUDA_LIBRARY.
struct tensor_on_gpu : Common {
  template <typename... Arguments>
  static void call(const char* name, Arguments... arguments) {
    void* driver = dlopen(std::getenv("HOROVODPP_CUDA_LIBRARY"), RTLD_NOW);
    auto function =
        reinterpret_cast<int (*)(Arguments...)>(dlsym(driver, name));
    if (function(arguments...) != 0) throw std::runtime_error(name);
  }
  tensor_on_gpu() {
    hvd::device::CuContext context = nullptr;
    hvd::device::CuAddress memory = 0;
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &context, hvd::device::CuDevice{0});
    call("cuCtxPushCurrent_v2", context);
    call("cuMemAlloc_v2", &memory, sizeof(float) * 1024 * 1024);
    memory_of_gpu = reinterpret_cast<float*>(memory);
  }
  float* memory_of_gpu = nullptr;
  void* stream = nullptr;
};
