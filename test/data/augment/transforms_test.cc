// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/data/augment/affine.h"
#include "horovodpp/data/augment/policies.h"
#include "horovodpp/data/augment/tones.h"
#include "horovodpp/tensor/factories.h"
#include "test/support/expect_error.h"

namespace hvd::data::augment {
namespace {

using autograd::Dims;
using autograd::Generator;

// Pixel (y, x) is 10 y + x in each of three channels.
Tensor numbered(std::int64_t height, std::int64_t width) {
  std::vector<std::uint8_t> bytes;
  for (int c = 0; c < 3; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        bytes.push_back(static_cast<std::uint8_t>(10 * y + x));
      }
    }
  }
  return from_vector(bytes, {3, height, width});
}

std::vector<std::uint8_t> bytes_of(const Tensor& image) {
  return image.to_vector<std::uint8_t>();
}

// The results of a transform with many seeds.
std::vector<Tensor> drawn(const ImageTransform& transform, const Tensor& image,
                          int count) {
  std::vector<Tensor> results;
  for (int seed = 0; seed < count; ++seed) {
    Generator random(static_cast<std::uint64_t>(seed));
    results.push_back(transform(image, random));
  }
  return results;
}

TEST(RandomFlip, HappensAsOftenAsAsked) {
  const Tensor image = numbered(3, 4);
  int flips = 0;
  for (const Tensor& result : drawn(random_horizontal_flip(0.25), image, 400)) {
    if (bytes_of(result) == bytes_of(image)) continue;
    ++flips;
    ASSERT_EQ(bytes_of(result), bytes_of(hflip(image)));
  }
  EXPECT_NEAR(flips, 100, 40);
  Generator random(1);
  EXPECT_EQ(bytes_of(random_vertical_flip(1.0)(image, random)),
            bytes_of(vflip(image)));
  EXPECT_ERROR(InvalidArgument, "in [0, 1]", random_vertical_flip(1.5));
}

TEST(RandomCrop, ReachesEveryPlace) {
  const auto transform =
      random_crop({.height = 4, .width = 4, .padding = 1, .fill = 99});
  std::set<std::vector<std::uint8_t>> crops;
  for (const Tensor& result : drawn(transform, numbered(4, 4), 200)) {
    crops.insert(bytes_of(result));
  }
  EXPECT_EQ(crops.size(), 9u);
  const Tensor corner =
      crop(numbered(4, 4),
           {.top = -1, .left = 1, .height = 4, .width = 4, .fill = 99});
  EXPECT_TRUE(crops.contains(bytes_of(corner)));
  EXPECT_EQ(bytes_of(corner)[0], 99);
  EXPECT_EQ(bytes_of(corner)[4], 1);
  const Tensor bright =
      crop(numbered(4, 4), {.top = -1, .height = 4, .width = 4, .fill = 300});
  EXPECT_EQ(bytes_of(bright)[0], 255);
}

TEST(RandomCrop, RefusesAnImageThatIsTooSmall) {
  Generator random(1);
  EXPECT_ERROR(InvalidArgument, "is smaller than the crop, 7 x 4",
               random_crop({.height = 7, .width = 4, .padding = 1})(
                   numbered(4, 4), random));
}

// A gradient along x shows the crop's width; one of y its height.
TEST(RandomResizedCrop, KeepsToItsAreasAndRatios) {
  const Tensor x = arange(0, 64).to(DType::kF32).expand({64, 64});
  const Tensor image = stack({x, x.t()}) / 64.0;
  const auto transform = random_resized_crop({.height = 2,
                                              .width = 2,
                                              .least_area = 0.25,
                                              .most_area = 0.5,
                                              .antialias = false});
  std::set<float> widths;
  for (const Tensor& result : drawn(transform, image, 100)) {
    ASSERT_EQ(result.shape(), (Dims{2, 2, 2}));
    const auto v = result.to_vector<float>();
    // Two pixels of the result are half a crop apart.
    const float width = 2 * (v[1] - v[0]);
    const float height = 2 * (v[6] - v[4]);
    ASSERT_NEAR(width * height, 0.375, 0.14);
    ASSERT_GT(width / height, 0.75 - 0.05);
    ASSERT_LT(width / height, 1.334 + 0.05);
    widths.insert(width);
  }
  EXPECT_GT(widths.size(), 10u);
}

// No box of this ratio fits into so flat an image.
TEST(RandomResizedCrop, FallsBackToTheMiddle) {
  const Tensor image = numbered(2, 100);
  Generator random(1);
  const Tensor result = random_resized_crop(
      {.height = 2, .width = 2, .least_area = 1})(image, random);
  EXPECT_EQ(bytes_of(result),
            bytes_of(resize(crop(image, {.left = 48, .height = 2, .width = 3}),
                            {.height = 2, .width = 2})));
  EXPECT_ERROR(InvalidArgument, "areas are in [0, 1]",
               random_resized_crop({.height = 2, .width = 2, .least_area = 2}));
}

TEST(ColorJitter, StaysWithinItsFactors) {
  const Tensor image = full({3, 2, 2}, 0.5);
  std::set<float> found;
  for (const Tensor& result :
       drawn(color_jitter({.brightness = 0.2}), image, 50)) {
    const float value = result.to_vector<float>()[0];
    ASSERT_GE(value, 0.4f);
    ASSERT_LE(value, 0.6f);
    found.insert(value);
  }
  EXPECT_GT(found.size(), 40u);
  const Tensor picture = numbered(3, 3);
  EXPECT_EQ(bytes_of(drawn(color_jitter({}), picture, 1)[0]),
            bytes_of(picture));
}

TEST(ColorJitter, TurnsTheHueWithinItsBounds) {
  const Tensor red = stack({ones({2, 2}), zeros({2, 2}), zeros({2, 2})});
  for (const Tensor& result : drawn(color_jitter({.hue = 0.1}), red, 30)) {
    const auto found = result.to_vector<float>();
    ASSERT_EQ(found[0], 1);  // Between red, yellow and magenta.
    ASSERT_LE(found[4] + found[8], 0.601f);
  }
  EXPECT_ERROR(InvalidArgument, "at most 0.5", color_jitter({.hue = 0.6}));
}

TEST(Policies, DrawEveryOperationFromTheGeneratorAlone) {
  const Tensor image = numbered(9, 12);
  for (const ImageTransform& policy :
       {rand_augment({.num_ops = 1}), trivial_augment_wide(), auto_augment(),
        auto_augment(AutoAugmentPolicy::kCifar10),
        auto_augment(AutoAugmentPolicy::kSvhn)}) {
    const auto first = drawn(policy, image, 60);
    const auto second = drawn(policy, image, 60);
    std::set<std::vector<std::uint8_t>> distinct;
    for (std::size_t i = 0; i < first.size(); ++i) {
      ASSERT_EQ(first[i].shape(), image.shape());
      ASSERT_EQ(bytes_of(first[i]), bytes_of(second[i]));
      distinct.insert(bytes_of(first[i]));
    }
    EXPECT_GT(distinct.size(), 12u);
  }
}

// Bin 15 of 31 of a translation is 75 pixels of 331, to either side.
TEST(Policies, HaveTheMagnitudesOfTheirBins) {
  const Tensor black = zeros({1, 1, 331});
  std::set<std::pair<double, float>>
      found;  // Filled pixels, and the first one.
  for (const Tensor& result :
       drawn(rand_augment({.num_ops = 1, .magnitude = 15, .fill = 1.0}), black,
             200)) {
    const auto pixels = result.to_vector<float>();
    double filled = 0;
    for (const float pixel : pixels) filled += pixel;
    found.emplace(filled, pixels[0]);
  }
  EXPECT_TRUE(found.contains({75, 0}));
  EXPECT_TRUE(found.contains({75, 1}));
}

TEST(Policies, RefuseOptionsOutOfRange) {
  EXPECT_ERROR(InvalidArgument, "at least 2 bins",
               rand_augment({.magnitude = 31}));
  EXPECT_ERROR(InvalidArgument, "negative", rand_augment({.num_ops = -1}));
  EXPECT_ERROR(InvalidArgument, "at least 2 bins",
               trivial_augment_wide({.num_magnitude_bins = 1}));
  const Tensor image = numbered(3, 4);
  EXPECT_ERROR(InvalidArgument, "bits are from 0 to 8",
               augmented(image, Augmentation::kPosterize, 9));
  EXPECT_ERROR(InvalidArgument, "above white",
               augmented(image, Augmentation::kSolarize, 1.1));
  EXPECT_ERROR(InvalidArgument, "not from -0.5 to 0.5", adjust_hue(image, 0.6));
  EXPECT_ERROR(InvalidArgument, "not finite", rotate(image, NAN));
  EXPECT_ERROR(InvalidArgument, "2 channels; there must be 1 or 3",
               autocontrast(zeros({2, 3, 4})));
}

TEST(RandomErasing, FillsABoxOfItsArea) {
  const Tensor image = full({1, 20, 30}, 1.0);
  int erased = 0;
  for (const Tensor& result : drawn(
           random_erasing({.least_area = 0.1, .most_area = 0.2}), image, 100)) {
    float sum = 0;
    for (const float v : result.to_vector<float>()) sum += v;
    if (sum == 600) continue;
    ++erased;
    ASSERT_NEAR(600 - sum, 90, 40);
  }
  EXPECT_NEAR(erased, 50, 20);
}

// A batch is transformed as its images one by one, by any number of threads.
TEST(TransformedBatch, EqualsItsImages) {
  std::vector<Tensor> images;
  std::vector<Generator> generators;
  for (std::uint64_t i = 0; i < 40; ++i) {
    images.push_back(numbered(20, 24));
    generators.emplace_back(i);
  }
  const auto transform =
      compose({random_resized_crop({.height = 40, .width = 30}),
               random_horizontal_flip(), color_jitter({.contrast = 0.5})});
  const Tensor batch = stack(images);
  const int before = get_num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const Tensor result = transform_batch(batch, transform, generators);
    ASSERT_EQ(result.shape(), (Dims{40, 3, 40, 30}));
    for (std::int64_t i = 0; i < 40; ++i) {
      Generator random(static_cast<std::uint64_t>(i));
      ASSERT_EQ(bytes_of(result.select(0, i)),
                bytes_of(transform(images[0], random)));
    }
    const Tensor last = transform_batch(batch.permute({0, 2, 3, 1}), transform,
                                        generators, Layout::kNhwc);
    EXPECT_TRUE(last.is_contiguous());
    EXPECT_EQ(bytes_of(last.permute({0, 3, 1, 2})), bytes_of(result));
  }
  set_num_threads(before);
}

TEST(TransformedBatch, ErrorsReachTheCaller) {
  const Tensor batch = zeros({50, 3, 30, 30}, {.dtype = DType::kU8});
  const std::vector<Generator> generators(50);
  EXPECT_ERROR(InvalidArgument, "smaller than the crop",
               transform_batch(batch, random_crop({.height = 31, .width = 2}),
                               generators));
  EXPECT_ERROR(InvalidArgument, "50 images and 1 generators",
               transform_batch(batch, random_horizontal_flip(), {Generator()}));
  EXPECT_ERROR(InvalidArgument, "has four dimensions",
               transform_batch(zeros({3, 3, 3}), random_horizontal_flip(), {}));
  const ImageTransform ragged = [](const Tensor& image, Generator& random) {
    return random_horizontal_flip()(
        random.state().seed == 0 ? image
                                 : crop(image, {.height = 2, .width = 2}),
        random);
  };
  EXPECT_ERROR(InvalidArgument, "resize or crop them to one size",
               transform_batch(zeros({2, 1, 4, 4}), ragged,
                               {Generator(0), Generator(1)}));
}

TEST(ImageFunctions, RefuseOtherTensors) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor image = numbered(2, 2);
  EXPECT_ERROR(InvalidArgument, "this one is int64[2]", hflip(arange(0, 2)));
  EXPECT_ERROR(InvalidArgument, "undefined", to_float(Tensor()));
  EXPECT_ERROR(InvalidArgument, "is not positive, or huge", resize(image, {}));
  EXPECT_ERROR(InvalidArgument, "is not positive, or huge",
               resize(image, {.shorter_side = std::int64_t{1} << 62}));
  EXPECT_ERROR(
      InvalidArgument, "not within an image of 2 x 2",
      resized_crop(
          image,
          {.top = 1, .height = 2, .width = 2, .to_height = 1, .to_width = 1}));
  EXPECT_ERROR(InvalidArgument, "not within the image",
               erase(image, {.left = 2, .height = 1, .width = 1}));
  EXPECT_ERROR(InvalidArgument, "2 channels; there must be 1 or 3",
               adjust_contrast(zeros({2, 2, 2}), 1));
  EXPECT_ERROR(InvalidArgument, "no number", adjust_saturation(image, nan));
  EXPECT_ERROR(InvalidArgument, "2 numbers as `mean`",
               normalize(image, {.mean = {0, 1}, .std = {1}}));
  EXPECT_ERROR(InvalidArgument, "`std` has a 0",
               normalize(image, {.mean = {0}, .std = {0}}));
}

}  // namespace
}  // namespace hvd::data::augment
