// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augmented_dataset.h"

#include <cstddef>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/item_random.h"

namespace hvd::data {
namespace {

// The items that a batch needs, by index.
class Items : public Dataset {
 public:
  void put(std::int64_t index, Item item) { items_[index] = std::move(item); }
  std::int64_t size() const override {
    return static_cast<std::int64_t>(items_.size());
  }
  Item get(std::int64_t index) const override { return items_.at(index); }

 private:
  std::map<std::int64_t, Item> items_;
};

Item fetch(const Dataset& images, std::int64_t index) {
  Item item = images.get(index);
  if (item.empty()) {
    throw InvalidArgument(
        absl::StrCat("item ", index, " has no tensors, so no image"));
  }
  return item;
}

}  // namespace

AugmentedDataset::AugmentedDataset(const Dataset& images,
                                   augment::ImageTransform transform,
                                   augment::BatchTransform mix)
    : images_(images), transform_(std::move(transform)), mix_(std::move(mix)) {
  if (!transform_) throw InvalidArgument("AugmentedDataset: no transform");
}

Item AugmentedDataset::get(std::int64_t index) const {
  Item item = fetch(images_, index);
  autograd::Generator random = item_generator(index);
  item[0] = transform_(item[0], random);
  return item;
}

// The images share threads. Throws as get(), but without the item's index.
Batch AugmentedDataset::batch_in_threads(
    std::span<const std::int64_t> indices) const {
  std::vector<Item> items;
  std::vector<Tensor> images;
  std::vector<autograd::Generator> generators;
  for (const std::int64_t index : indices) {
    items.push_back(fetch(images_, index));
    images.push_back(items.back()[0]);
    generators.push_back(item_generator(index));
  }
  images = augment::transform_images(images, transform_, generators);
  Items transformed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i][0] = images[i];
    transformed.put(indices[i], std::move(items[i]));
  }
  return transformed.get_batch(indices);
}

Batch AugmentedDataset::unmixed_batch(
    std::span<const std::int64_t> indices) const {
  if (!pass_has_workers()) {
    try {
      return batch_in_threads(indices);
    } catch (const std::exception&) {
      // One by one: that error names its item.
    }
  }
  return Dataset::get_batch(indices);
}

Batch AugmentedDataset::get_batch(std::span<const std::int64_t> indices) const {
  Batch batch = unmixed_batch(indices);
  if (!mix_ || indices.empty()) return batch;
  autograd::Generator random = item_generator(indices[0]).fork();
  return mix_(batch, random);
}

}  // namespace hvd::data
