// SPDX-License-Identifier: Apache-2.0
#include "models/catalog.h"

#include <horovodpp/autograd/graph/error.h>

#include "models/char_lstm.h"
#include "models/densenet.h"
#include "models/gpt.h"
#include "models/lenet.h"
#include "models/mlp.h"
#include "models/resnet.h"
#include "models/swin.h"

namespace models {
namespace {

constexpr std::int64_t kSwinHead = 16;
constexpr double kSwinDropPath = 0.1;
constexpr std::int64_t kGptHead = 32;

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
  if (name == "mlp" || name == "lenet") {
    if (width > 0) refuse(name, width, "it has but one size");
    if (name == "mlp") return std::make_shared<Mlp>();
    return std::make_shared<LeNet>();
  }
  refuse(name, width,
         "there are mlp, lenet, resnet18, resnet50, densenet and swin for "
         "images");
}

std::shared_ptr<ChainModel> make_text_model(const std::string& name,
                                            const TextModelOptions& options) {
  if (options.width < 0 || options.layers < 0) {
    refuse(name, options.width, "sizes are positive");
  }
  if (name == "gpt") {
    GPTOptions gpt{.context = options.context, .dropout = options.dropout};
    if (options.width > 0) gpt.width = options.width;
    if (options.layers > 0) gpt.layers = options.layers;
    gpt.heads = heads_of(name, gpt.width, kGptHead);
    auto model = std::make_shared<GPT>(gpt);
    model->reset_parameters();
    return model;
  }
  if (name == "lstm") {
    CharLSTMOptions lstm;
    if (options.width > 0) lstm.hidden = options.width;
    if (options.layers > 0) lstm.layers = options.layers;
    return std::make_shared<CharLSTM>(lstm);
  }
  refuse(name, options.width, "there are gpt and lstm for text");
}

}  // namespace models
