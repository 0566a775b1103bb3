// SPDX-License-Identifier: Apache-2.0
#include "models/catalog.h"

#include <horovodpp/autograd/graph/error.h>

#include "models/language/bert.h"
#include "models/language/char_lstm.h"
#include "models/language/gpt.h"
#include "models/language/llama.h"
#include "models/vision/densenet.h"
#include "models/vision/image_gru.h"
#include "models/vision/lenet.h"
#include "models/vision/mlp.h"
#include "models/vision/resnet.h"
#include "models/vision/swin.h"
#include "models/vision/unet.h"
#include "models/vision/vit.h"

namespace models {
namespace {

constexpr std::int64_t kSwinHead = 16;
constexpr double kSwinDropPath = 0.1;
constexpr std::int64_t kVitHead = 16;
constexpr std::int64_t kTextHead = 32;

[[noreturn]] void refuse(const std::string& name, std::int64_t width,
                         const std::string& wanted) {
  throw hvd::InvalidArgument("there is no model '" + name + "' of width " +
                             std::to_string(width) + "; " + wanted);
}

std::int64_t heads_of(const std::string& name, std::int64_t width,
                      std::int64_t head) {
  if (width > 0 && width % head == 0) return width / head;
  refuse(name, width, "it is a multiple of " + std::to_string(head));
}

std::shared_ptr<ChainModel> make_vit(std::int64_t width) {
  VitOptions options;
  if (width > 0) options.width = width;
  options.heads = heads_of("vit", options.width, kVitHead);
  return std::make_shared<Vit>(options);
}

std::shared_ptr<ChainModel> make_unet(std::int64_t width) {
  UNetOptions options;
  if (width > 0) options.width = width;
  heads_of("unet", options.width, options.groups);
  return std::make_shared<UNet>(options);
}

std::shared_ptr<ChainModel> make_bert(const TextModelOptions& options) {
  BertOptions bert{.context = options.context, .dropout = options.dropout};
  if (options.width > 0) bert.width = options.width;
  if (options.layers > 0) bert.layers = options.layers;
  bert.heads = heads_of("bert", bert.width, kTextHead);
  auto model = std::make_shared<Bert>(bert);
  model->reset_parameters();
  return model;
}

LlamaOptions llama_options(const std::string& name,
                           const TextModelOptions& options) {
  const bool is_large = name == "llama-15m";
  LlamaOptions llama;
  if (is_large) llama = {.width = 384, .hidden = 1024, .layers = 9};
  if (options.width > 0) llama.width = options.width;
  if (options.width > 0) llama.hidden = 0;
  if (options.layers > 0) llama.layers = options.layers;
  llama.heads = heads_of(name, llama.width, is_large ? 64 : kTextHead);
  llama.key_heads = options.key_heads;
  if (llama.key_heads == 0) {
    llama.key_heads = llama.heads % 2 == 0 ? llama.heads / 2 : llama.heads;
  }
  if (llama.heads % llama.key_heads != 0) {
    refuse(name, llama.width,
           "its heads, " + std::to_string(llama.heads) +
               ", are a multiple of those of keys, " +
               std::to_string(llama.key_heads));
  }
  llama.window = options.window;
  llama.vocabulary = options.vocabulary;
  return llama;
}

}  // namespace

std::shared_ptr<ChainModel> make_image_model(const std::string& name,
                                             std::int64_t width) {
  if (width < 0) refuse(name, width, "it is positive");
  if (name == "resnet18" || name == "resnet50") {
    ResNetOptions options;
    if (width > 0) options.width = width;
    if (name == "resnet18") return std::make_shared<ResNet18>(options);
    return std::make_shared<ResNet50>(options);
  }
  if (name == "densenet") {
    DenseNetOptions options;
    if (width > 0) options.growth = width;
    return std::make_shared<DenseNetBC>(options);
  }
  if (name == "swin") {
    SwinOptions options{.drop_path = kSwinDropPath};
    if (width > 0) options.width = width;
    options.heads = heads_of(name, options.width, kSwinHead);
    return std::make_shared<Swin>(options);
  }
  if (name == "vit") return make_vit(width);
  if (name == "unet") return make_unet(width);
  if (name == "gru") {
    ImageGRUOptions options;
    if (width > 0) options.hidden = width;
    return std::make_shared<ImageGRU>(options);
  }
  if (name == "mlp" || name == "lenet") {
    if (width > 0) refuse(name, width, "it has but one size");
    if (name == "mlp") return std::make_shared<Mlp>();
    return std::make_shared<LeNet>();
  }
  refuse(name, width,
         "there are mlp, lenet, resnet18, resnet50, densenet, swin, vit, gru "
         "and unet for images");
}

std::shared_ptr<ChainModel> make_text_model(const std::string& name,
                                            const TextModelOptions& options) {
  if (options.width < 0 || options.layers < 0) {
    refuse(name, options.width, "sizes are positive");
  }
  if (name == "gpt") {
    GPTOptions gpt{.context = options.context, .dropout = options.dropout};
    gpt.vocabulary = options.vocabulary;
    if (options.width > 0) gpt.width = options.width;
    if (options.layers > 0) gpt.layers = options.layers;
    gpt.heads = heads_of(name, gpt.width, kTextHead);
    auto model = std::make_shared<GPT>(gpt);
    model->reset_parameters();
    return model;
  }
  if (name == "llama" || name == "llama-15m") {
    auto model = std::make_shared<Llama>(llama_options(name, options));
    model->reset_parameters();
    return model;
  }
  if (name == "bert") return make_bert(options);
  if (name == "lstm") {
    CharLSTMOptions lstm;
    lstm.vocabulary = options.vocabulary;
    if (options.width > 0) lstm.hidden = options.width;
    if (options.layers > 0) lstm.layers = options.layers;
    return std::make_shared<CharLSTM>(lstm);
  }
  refuse(name, options.width,
         "there are gpt, llama, llama-15m, lstm and bert for text");
}

}  // namespace models
