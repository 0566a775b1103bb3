// SPDX-License-Identifier: Apache-2.0
// Decoded images are those of Pillow. test/fixtures/make_image_fixtures.py makes
// the files, and Pillow's pixels.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/nn/safetensors.h"
#include "test/data/images/fixture_images.h"

namespace hvd::data {
namespace {

const std::map<std::string, Tensor>& pillows_pixels() {
  static const auto all = [] {
    std::map<std::string, Tensor> pixels;
    for (const auto& [name, tensor] :
         nn::load_safetensors(std::string(HVD_FIXTURES) + "/images.safetensors")
             .tensors) {
      pixels.emplace(name, tensor);
    }
    return pixels;
  }();
  return all;
}

int largest_difference(const Tensor& a, const Tensor& b) {
  const auto left = a.to_vector<std::uint8_t>();
  const auto right = b.to_vector<std::uint8_t>();
  int largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest, std::abs(left[i] - right[i]));
  }
  return largest;
}

class DecodedImage : public testing::TestWithParam<std::string> {};

TEST_P(DecodedImage, EqualsPillows) {
  HVD_SKIP_WITHOUT(GetParam());
  // Versions of libjpeg may round otherwise.
  const int tolerance = GetParam().ends_with(".jpg") ? 2 : 0;
  for (const Colors colors : {Colors::kRgb, Colors::kGray}) {
    const bool is_gray = colors == Colors::kGray;
    const Tensor pixels =
        pillows_pixels().at(GetParam() + (is_gray ? ".L" : ".RGB"));
    const Tensor image =
        read_image(fixture_image(GetParam()), {.colors = colors});
    EXPECT_EQ(image.dtype(), DType::kU8);
    ASSERT_EQ(image.shape(), (autograd::Dims{is_gray ? 1 : 3, pixels.size(0),
                                             pixels.size(1)}));
    EXPECT_LE(largest_difference(image, pixels.permute({2, 0, 1})), tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(OfPillow, DecodedImage,
                         testing::ValuesIn(fixture_image_names()),
                         [](const auto& image) {
                           std::string name = image.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST(DecodedImage, FilesAreThoseOfTheFixture) {
  EXPECT_EQ(fixture_image_names().size() * 2, pillows_pixels().size());
  EXPECT_GT(fixture_image_names().size(), 10u);
}

}  // namespace
}  // namespace hvd::data
