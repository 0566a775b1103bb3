// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/image_folder.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {
namespace {

namespace fs = std::filesystem;

enum class FileKind { kImage, kForeignImage, kOther };

FileKind kind_of_file(const fs::path& path) {
  const std::string suffix = absl::AsciiStrToLower(path.extension().string());
  if (suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg") {
    return FileKind::kImage;
  }
  // The other formats of torchvision's ImageFolder.
  for (const char* foreign :
       {".bmp", ".pgm", ".ppm", ".tif", ".tiff", ".webp"}) {
    if (suffix == foreign) return FileKind::kForeignImage;
  }
  return FileKind::kOther;
}

// Sorted by the folder and, within a folder, by the file's name.
using FoundFile = std::pair<std::string, std::string>;

std::vector<FoundFile> images_below(const fs::path& folder) {
  std::vector<FoundFile> found;
  const fs::recursive_directory_iterator files(
      folder, fs::directory_options::follow_directory_symlink);
  for (const fs::directory_entry& file : files) {
    const FileKind kind = kind_of_file(file.path());
    if (kind == FileKind::kOther || file.is_directory()) continue;
    if (kind == FileKind::kForeignImage) {
      throw InvalidArgument(absl::StrCat("'", file.path().string(),
                                         "' is neither PNG nor JPEG; convert ",
                                         "it, or move it elsewhere"));
    }
    found.emplace_back(file.path().parent_path().string(),
                       file.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    throw Error(absl::NotFoundError(
        absl::StrCat("'", folder, "' has no subfolders; each class of images ",
                     "has one, which gives it its name")));
  }
  return names;
}

}  // namespace

ImageFolder::ImageFolder(const std::string& folder, const ImageOptions& options)
    : options_(options) {
  try {
    classes_ = subfolders(folder);
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      const auto files = images_below(fs::path(folder) / classes_[label]);
      if (files.empty()) {
        throw Error(absl::NotFoundError(absl::StrCat(
            "'", (fs::path(folder) / classes_[label]).string(),
            "' has no .png, .jpg or .jpeg file; remove the folder, ",
            "or give its class an image")));
      }
      for (const auto& [parent, name] : files) {
        samples_.push_back({.path = (fs::path(parent) / name).string(),
                            .label = static_cast<std::int64_t>(label)});
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(file_error(
        error.code().value(),
        absl::StrCat("'", error.path1().string(), "' cannot be listed")));
  }
}

Item ImageFolder::get(std::int64_t index) const {
  if (index < 0 || index >= size()) {
    throw InvalidArgument(
        absl::StrCat("image ", index, " of a folder of ", size()));
  }
  const Sample& sample = samples_[static_cast<std::size_t>(index)];
  return {read_image(sample.path, options_),
          from_vector<std::int64_t>({sample.label}, {})};
}

}  // namespace hvd::data
