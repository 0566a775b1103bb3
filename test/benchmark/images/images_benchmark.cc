// SPDX-License-Identifier: Apache-2.0
// Decodes the images of an ImageFolder, and prints the images per second of
// processor time: decoded, and augmented as for ImageNet.
//
//   images_benchmark FOLDER
#include <horovodpp/autograd.h>
#include <horovodpp/data/data.h>

#include <cstdio>
#include <ctime>
#include <exception>

namespace {

using namespace hvd::data;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double images_per_second(const Dataset& images) {
  const double begin = processor_seconds();
  for (std::int64_t i = 0; i < images.size(); ++i) images.get(i);
  return static_cast<double>(images.size()) / (processor_seconds() - begin);
}

void measure(const char* folder) {
  const ImageFolder images(folder);
  const AugmentedDataset augmented(
      images, augment::compose(
                  {augment::random_resized_crop({.height = 224, .width = 224}),
                   augment::random_horizontal_flip(),
                   augment::normalize({.mean = {0.485, 0.456, 0.406},
                                       .std = {0.229, 0.224, 0.225}})}));
  images_per_second(images);  // Files into the page cache.
  std::printf("decode %.1f augment %.1f\n", images_per_second(images),
              images_per_second(augmented));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: images_benchmark FOLDER\n");
    return 2;
  }
  try {
    measure(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "images_benchmark: %s\n", error.what());
    return 1;
  }
}
