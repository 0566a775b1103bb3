// SPDX-License-Identifier: Apache-2.0
#include "folder_images.h"

#include <stdexcept>

#include "fashion_mnist_data.h"

namespace {

constexpr std::size_t kMostClasses = 10;

hvd::data::augment::ImageTransform make_transform(bool augment) {
  using namespace hvd::data::augment;
  constexpr std::int64_t kSide = FashionMnist::kSide;
  std::vector<ImageTransform> all = {resize({.height = kSide, .width = kSide})};
  if (augment) {
    all.push_back(random_crop({.height = kSide, .width = kSide, .padding = 2}));
    all.push_back(random_horizontal_flip());
  }
  all.push_back(normalize(
      {.mean = {FashionMnist::kMean}, .std = {FashionMnist::kDeviation}}));
  return compose(all);
}

}  // namespace

FolderImages::FolderImages(const std::string& folder,
                           const FolderImagesOptions& options)
    : files_(folder, {.colors = hvd::data::Colors::kGray}),
      images_(files_, make_transform(options.augment)) {
  if (classes().size() > kMostClasses) {
    throw std::runtime_error("'" + folder + "' has " +
                             std::to_string(classes().size()) +
                             " subfolders; the models have ten classes");
  }
}
