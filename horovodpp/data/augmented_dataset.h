// SPDX-License-Identifier: Apache-2.0
// An AugmentedDataset is a data set of images whose items are transformed at
// random.
//
//   using namespace hvd::data;
//   const ImageFolder folder("train");
//   const AugmentedDataset train(
//       folder, augment::compose({augment::random_resized_crop({.height = 224, .width = 224}),
//                                 augment::random_horizontal_flip(),
//                                 augment::to_float()}));
//
// The random numbers of an item depend on the seed of the DataLoader, the epoch
// and the item's index, for any number of ranks and workers (item_random.h).
//
// The workers of a DataLoader transform batches side by side. Without workers,
// the images of a batch share the threads of an operation.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <span>

#include "horovodpp/core/export.h"
#include "horovodpp/data/augment/mix.h"
#include "horovodpp/data/augment/transform.h"
#include "horovodpp/data/dataset.h"

namespace HVD_EXPORT hvd {
namespace data {

class AugmentedDataset : public Dataset {
 public:
  // The first tensor of an item of `images` is the image; the others stay as
  // they are. `images` outlives this. `mix`, if any, gets whole batches; its
  // random numbers depend on the index of the batch's first item.
  explicit AugmentedDataset(const Dataset& images,
                            augment::ImageTransform transform,
                            augment::BatchTransform mix = nullptr);

  std::int64_t size() const override { return images_.size(); }
  // The transformed item, without `mix`. Throws what the data set and the
  // transform throw.
  Item get(std::int64_t index) const override;
  Batch get_batch(std::span<const std::int64_t> indices) const override;

 private:
  Batch batch_in_threads(std::span<const std::int64_t> indices) const;
  Batch unmixed_batch(std::span<const std::int64_t> indices) const;

  const Dataset& images_;
  const augment::ImageTransform transform_;
  const augment::BatchTransform mix_;
};

}  // namespace data
}  // namespace hvd
