// SPDX-License-Identifier: Apache-2.0
// An ImageFolder is a data set of image files in one folder per class, as
// torchvision's:
//
//   photos/cat/1.jpg  photos/cat/2.png  photos/dog/old/1.jpg
//
//   hvd::data::ImageFolder photos("photos");
//   photos.classes();                        // {"cat", "dog"}
//   hvd::data::Item item = photos.get(2);    // The dog, and label 1.
//
// Classes are the subfolders, sorted by name. The items of a class are its .png,
// .jpg and .jpeg files, those of subfolders included, sorted by folder and name.
// Files are read as they are asked for. Immutable; any thread may read.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/data/dataset.h"
#include "horovodpp/data/images/image_file.h"

namespace HVD_EXPORT hvd {
namespace data {

class ImageFolder : public Dataset {
 public:
  struct Sample {
    std::string path;
    std::int64_t label = 0;
  };

  // Lists the files.
  //   hvd::Error  names the folder or file. NotFound: `folder` has no
  //               subfolders, or a class has no images. InvalidArgument: a class
  //               has images of another format. Or a folder cannot be read
  explicit ImageFolder(const std::string& folder,
                       const ImageOptions& options = {});

  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<Sample>& samples() const { return samples_; }

  std::int64_t size() const override {
    return static_cast<std::int64_t>(samples_.size());
  }
  // {uint8[channels, height, width], int64[]}: the image and its label.
  //   InvalidArgument  no such item
  //   hvd::Error       as read_image()
  Item get(std::int64_t index) const override;

 private:
  const ImageOptions options_;
  std::vector<std::string> classes_;
  std::vector<Sample> samples_;
};

}  // namespace data
}  // namespace hvd
