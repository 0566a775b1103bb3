// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "horovodpp/data/data_loader.h"
#include "test/data/images/fixture_images.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ImageFolders : public testing::Test {
 protected:
  void put(const std::string& image, const std::string& path) {
    fs::create_directories(fs::path(folder_.path(path)).parent_path());
    fs::copy_file(fixture_image(image), folder_.path(path));
  }
  std::vector<std::string> paths(const ImageFolder& images) const {
    std::vector<std::string> found;
    for (const ImageFolder::Sample& sample : images.samples()) {
      found.push_back(fs::relative(sample.path, folder_.path()).string());
    }
    return found;
  }
  TemporaryFolder folder_;
};

// In the order of torchvision: by folder, then by name.
TEST_F(ImageFolders, OrderIsThatOfTorchvision) {
  put("rgb.png", "dog/a.png");
  put("rgb.png", "cat/b/c.png");
  put("rgb.png", "cat/b.PNG");
  put("rgb.jpg", "cat/z.jpeg");
  put("rgb.jpg", "cat/a/z.JPG");
  std::ofstream(folder_.path("cat/notes.txt")) << "no image";
  std::ofstream(folder_.path("list.txt")) << "no class";
  const ImageFolder images(folder_.path());
  EXPECT_THAT(images.classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(paths(images),
              ElementsAre("cat/b.PNG", "cat/z.jpeg", "cat/a/z.JPG",
                          "cat/b/c.png", "dog/a.png"));
  EXPECT_EQ(images.samples()[3].label, 0);
  EXPECT_EQ(images.samples()[4].label, 1);
}

TEST_F(ImageFolders, FollowsLinksToFolders) {
  put("rgb.png", "classes/cat/a.png");
  put("rgb.png", "elsewhere/b.png");
  fs::create_directory_symlink(folder_.path("elsewhere"),
                               folder_.path("classes/dog"));
  EXPECT_EQ(ImageFolder(folder_.path("classes")).size(), 2);
}

TEST_F(ImageFolders, ItemsAreImagesAndLabels) {
  HVD_SKIP_WITHOUT("rgb.png");
  put("rgb.png", "cat/a.png");
  put("gray.png", "dog/a.png");
  const ImageFolder images(folder_.path(), {.colors = Colors::kGray});
  const Item dog = images.get(1);
  EXPECT_EQ(dog[0].shape(), (autograd::Dims{1, 13, 19}));
  EXPECT_EQ(dog[1].item<std::int64_t>(), 1);
  const std::vector<std::int64_t> both = {1, 0};
  const Batch batch = images.get_batch(both);
  EXPECT_EQ(batch[0].shape(), (autograd::Dims{2, 1, 13, 19}));
  EXPECT_THAT(batch[1].to_vector<std::int64_t>(), ElementsAre(1, 0));
  EXPECT_ERROR(InvalidArgument, "image 2 of a folder of 2", images.get(2));
}

TEST_F(ImageFolders, DamagedFileEndsThePassAndIsNamed) {
  HVD_SKIP_WITHOUT("rgb.png");
  put("rgb.png", "cat/a.png");
  fs::resize_file(folder_.path("cat/a.png"), 99);
  const ImageFolder images(folder_.path());
  DistributedSampler sampler(1);
  DataLoader loader(images, sampler);
  EXPECT_ERROR(Error, folder_.path("cat/a.png") + "' is damaged",
               loader.iterate().next());
}

TEST_F(ImageFolders, ErrorsNameTheFolder) {
  EXPECT_ERROR(Error, "/no/such/folder' cannot be listed",
               ImageFolder("/no/such/folder"));
  EXPECT_ERROR(Error, folder_.path() + "' has no subfolders",
               ImageFolder(folder_.path()));
  put("rgb.png", "dog/a.png");
  fs::create_directory(folder_.path("cat"));
  EXPECT_ERROR(Error, folder_.path("cat") + "' has no .png",
               ImageFolder(folder_.path()));
  std::ofstream(folder_.path("cat/a.webp")) << "an image";
  EXPECT_ERROR(InvalidArgument, folder_.path("cat/a.webp"),
               ImageFolder(folder_.path()));
}

}  // namespace
}  // namespace hvd::data
