// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augmented_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "horovodpp/data/augment/transforms.h"
#include "horovodpp/data/data_loader.h"
#include "horovodpp/tensor/factories.h"
#include "test/support/expect_error.h"

namespace hvd::data {
namespace {

TensorDataset noisy_images(std::int64_t n) {
  manual_seed(3);
  return TensorDataset({rand({n, 3, 9, 8}), arange(0, static_cast<double>(n))});
}

augment::ImageTransform transform() {
  return augment::compose(
      {augment::random_resized_crop({.height = 6, .width = 6}),
       augment::random_horizontal_flip(),
       augment::color_jitter({.brightness = 0.4, .saturation = 0.4}),
       augment::random_erasing()});
}

struct Job {
  int ranks = 1;
  int workers = 0;
  std::int64_t batch_size = 4;
  std::int64_t epoch = 0;
};

// The image of each label, over all ranks.
std::map<std::int64_t, std::vector<float>> images_of(const Dataset& dataset,
                                                     const Job& job) {
  std::map<std::int64_t, std::vector<float>> images;
  for (int rank = 0; rank < job.ranks; ++rank) {
    DistributedSampler sampler(dataset.size(),
                               {.num_replicas = job.ranks, .rank = rank});
    sampler.set_epoch(job.epoch);
    DataLoader loader(dataset, sampler,
                      {.batch_size = job.batch_size, .workers = job.workers});
    for (const Batch& batch : loader.iterate()) {
      const auto labels = batch[1].to_vector<std::int64_t>();
      for (std::size_t i = 0; i < labels.size(); ++i) {
        images[labels[i]] =
            batch[0].select(0, static_cast<std::int64_t>(i)).to_vector<float>();
      }
    }
  }
  return images;
}

TEST(AugmentedDataset, DrawsBySeedEpochAndItemAlone) {
  const TensorDataset originals = noisy_images(12);
  const AugmentedDataset dataset(originals, transform());
  const auto images = images_of(dataset, {});
  EXPECT_EQ(images.size(), 12u);
  EXPECT_EQ(images, images_of(dataset, {.ranks = 3, .batch_size = 2}));
  EXPECT_EQ(images, images_of(dataset, {.ranks = 2, .workers = 2}));
  EXPECT_EQ(images, images_of(dataset, {.workers = 3, .batch_size = 5}));
  EXPECT_NE(images, images_of(dataset, {.epoch = 1}));
}

TEST(AugmentedDataset, MixesBatches) {
  const TensorDataset originals = noisy_images(8);
  const AugmentedDataset dataset(originals, transform(),
                                 augment::mixup({.num_classes = 8}));
  for (const int workers : {0, 2}) {
    DistributedSampler sampler(8, {.shuffle = false});
    DataLoader loader(dataset, sampler, {.batch_size = 4, .workers = workers});
    const Batch batch = *loader.iterate().next();
    EXPECT_EQ(batch[1].shape(), (autograd::Dims{4, 8}));
    EXPECT_NEAR(batch[1].sum().item<float>(), 4, 1e-5);
  }
  EXPECT_EQ(dataset.get(3)[1].item<std::int64_t>(), 3);
}

TEST(AugmentedDataset, ErrorsNameTheItem) {
  const TensorDataset originals = noisy_images(8);
  const AugmentedDataset dataset(originals,
                                 [](const Tensor& image, autograd::Generator&) {
                                   if (image.to_vector<float>()[0] >= 0)
                                     throw InvalidArgument("bad image");
                                   return image;
                                 });
  for (const int workers : {0, 1}) {
    DistributedSampler sampler(8, {.shuffle = false});
    DataLoader loader(dataset, sampler, {.batch_size = 4, .workers = workers});
    EXPECT_ERROR(Error, "item 0: bad image", loader.iterate().next());
  }
  EXPECT_ERROR(InvalidArgument, "no transform",
               AugmentedDataset(originals, nullptr));
}

}  // namespace
}  // namespace hvd::data
