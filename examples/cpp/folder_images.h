// SPDX-License-Identifier: Apache-2.0
// Images of a folder of PNG and JPEG files, for models of Fashion-MNIST: gray,
// and resized to 28×28.
//
//   FolderImages train("clothes/train", {.augment = true});
//
// An item is an image, float32[1, 28, 28], and its label, int64[].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <horovodpp/horovodpp.h>

struct FolderImagesOptions {
  bool augment = false;  // As that of FashionMnist.
};

class FolderImages : public hvd::data::Dataset {
 public:
  // The folder has a subfolder for each class.
  //   hvd::Error          names a file or folder that cannot be read
  //   std::runtime_error  there are more than ten classes
  explicit FolderImages(const std::string& folder,
                        const FolderImagesOptions& options = {});

  const std::vector<std::string>& classes() const { return files_.classes(); }
  std::int64_t size() const override { return files_.size(); }
  hvd::data::Item get(std::int64_t index) const override {
    return images_.get(index);
  }
  hvd::data::Batch get_batch(
      std::span<const std::int64_t> indices) const override {
    return images_.get_batch(indices);
  }

 private:
  const hvd::data::ImageFolder files_;
  const hvd::data::AugmentedDataset images_;
};
