// SPDX-License-Identifier: Apache-2.0
// Functions of images are torchvision's. test/fixtures/make_augment_fixtures.py
// makes the expected images, of the same image.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/data/augment/affine.h"
#include "horovodpp/data/augment/augmentations.h"
#include "horovodpp/data/augment/functions.h"
#include "horovodpp/data/augment/tones.h"
#include "horovodpp/nn/safetensors.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data::augment {
namespace {

constexpr std::int64_t kHeight = 21;
constexpr std::int64_t kWidth = 19;

// As image() of the script.
Tensor same_image(std::int64_t channels) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < channels * kHeight * kWidth; ++i) {
    bytes.push_back(static_cast<std::uint8_t>((i * 2654435761u) >> 24));
  }
  return from_vector(bytes, {channels, kHeight, kWidth});
}

using Function = std::function<Tensor(const Tensor&)>;

Function resized(const ResizeOptions& options) {
  return [options](const Tensor& x) { return resize(x, options); };
}

Tensor erased(const Tensor& x) {
  return erase(x, {.top = 3,
                   .left = 4,
                   .height = 5,
                   .width = 6,
                   .fill = x.dtype() == DType::kU8 ? 7.0 : 0.5});
}

Tensor normalized(const Tensor& x) {
  if (x.size(0) == 1) return normalize(x, {.mean = {0.4}, .std = {0.2}});
  return normalize(x, {.mean = {0.4, 0.5, 0.6}, .std = {0.2, 0.3, 0.1}});
}

// MAGNITUDES of the script.
void add_augmentations(std::map<std::string, Function>& all) {
  struct Case {
    const char* name;
    Augmentation augmentation;
    std::vector<double> magnitudes;
  };
  for (const Case& c :
       std::vector<Case>{{"ShearX", Augmentation::kShearX, {0.21, -0.3}},
                         {"ShearY", Augmentation::kShearY, {0.11, -0.27}},
                         {"TranslateX", Augmentation::kTranslateX, {3.7, -4}},
                         {"TranslateY", Augmentation::kTranslateY, {5.2, -1}},
                         {"Rotate", Augmentation::kRotate, {27, -135, 180}},
                         {"Brightness", Augmentation::kBrightness, {0.4, -0.7}},
                         {"Color", Augmentation::kColor, {0.9, -0.5}},
                         {"Contrast", Augmentation::kContrast, {0.6, -0.3}},
                         {"Sharpness", Augmentation::kSharpness, {0.8, -0.9}},
                         {"Posterize", Augmentation::kPosterize, {4, 7}},
                         {"Solarize", Augmentation::kSolarize, {0.4, 1}},
                         {"AutoContrast", Augmentation::kAutoContrast, {0}},
                         {"Equalize", Augmentation::kEqualize, {0}},
                         {"Invert", Augmentation::kInvert, {0}}}) {
    for (std::size_t i = 0; i < c.magnitudes.size(); ++i) {
      const auto run = [kind = c.augmentation,
                        magnitude = c.magnitudes[i]](const Tensor& x) {
        return augmented(x, kind, magnitude);
      };
      all[std::string(c.name) + "_" + std::to_string(i)] = run;
    }
  }
}

std::map<std::string, Function> plain_functions() {
  return {
      {"smaller", resized({.height = 11, .width = 13})},
      {"larger", resized({.height = 40, .width = 37})},
      {"smaller_aliased",
       resized({.height = 11, .width = 13, .antialias = false})},
      {"shorter_side", resized({.shorter_side = 10})},
      {"resized_crop",
       [](const Tensor& x) {
         return resized_crop(x, {.top = 3,
                                 .left = 5,
                                 .height = 17,
                                 .width = 9,
                                 .to_height = 8,
                                 .to_width = 12});
       }},
      {"crop",
       [](const Tensor& x) {
         return crop(x, {.top = -3, .left = 4, .height = 15, .width = 40});
       }},
      {"center_crop",
       [](const Tensor& x) {
         return center_crop(x, {.height = 12, .width = 16});
       }},
      {"center_crop_larger",
       [](const Tensor& x) {
         return center_crop(x, {.height = 30, .width = 14});
       }},
      {"hflip", hflip},
      {"vflip", vflip},
      {"brightness", [](const Tensor& x) { return adjust_brightness(x, 1.3); }},
      {"contrast", [](const Tensor& x) { return adjust_contrast(x, 0.6); }},
      {"contrast_up", [](const Tensor& x) { return adjust_contrast(x, 1.7); }},
      {"saturation", [](const Tensor& x) { return adjust_saturation(x, 0.4); }},
      {"saturation_up",
       [](const Tensor& x) { return adjust_saturation(x, 1.8); }},
      {"hue", [](const Tensor& x) { return adjust_hue(x, 0.3); }},
      {"hue_back", [](const Tensor& x) { return adjust_hue(x, -0.45); }},
      {"affine",
       [](const Tensor& x) {
         return affine(x, {.angle = 20,
                           .translate_x = 2,
                           .translate_y = -3,
                           .scale = 1.3,
                           .shear_x = 10,
                           .shear_y = 5,
                           .fill = x.dtype() == DType::kU8 ? 7.0 : 0.5});
       }},
      {"erase", erased},
      {"to_float", to_float},
      {"normalize", normalized},
  };
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = [] {
    auto made = plain_functions();
    add_augmentations(made);
    return made;
  }();
  return all;
}

// Only resized and blended bytes are rounded otherwise, by 1.
void expect_same(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  ASSERT_EQ(found.dtype(), expected.dtype());
  const double tolerance = found.dtype() == DType::kU8 ? 1.0 : 2e-6;
  const auto left = found.to(DType::kF64).to_vector<double>();
  const auto right = expected.to(DType::kF64).to_vector<double>();
  int different = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    ASSERT_NEAR(left[i], right[i], tolerance * std::max(1.0, right[i])) << i;
    different += left[i] != right[i];
  }
  if (found.dtype() == DType::kU8) {
    EXPECT_LE(different, static_cast<int>(left.size() / 50));
  }
}

TEST(ImageFunctions, AreTorchvisions) {
  const auto file =
      nn::load_safetensors(std::string(HVD_FIXTURES) + "/augment.safetensors");
  EXPECT_EQ(file.tensors.size(), 4 * functions().size());
  for (const auto& [key, expected] : file.tensors) {
    SCOPED_TRACE(key);  // "bytes.3.hflip"
    const auto dot = key.find('.');
    const Tensor bytes = same_image(key[dot + 1] - '0');
    const Tensor image =
        key.starts_with("bytes") ? bytes : bytes.to(DType::kF32) / 255.0;
    const Function& function = functions().at(key.substr(dot + 3));
    expect_same(function(image), expected);
    // With the channels last in memory.
    const Tensor last =
        image.permute({1, 2, 0}).contiguous().permute({2, 0, 1});
    expect_same(function(last), expected);
  }
}

}  // namespace
}  // namespace hvd::data::augment
