// SPDX-License-Identifier: Apache-2.0
// Random numbers that belong to an item: they depend on the seed of the
// DataLoader, the epoch and the item's index, and on neither ranks, nor workers,
// nor batches.
//
//   hvd::data::Item get(std::int64_t index) const override {
//     auto random = hvd::data::item_generator(index);
//     return {flip(images_[index], random)};
//   }
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/generator.h"

namespace HVD_EXPORT hvd {
namespace data {

// The generator of item `index` in the current pass of the calling DataLoader.
// Without a DataLoader, uses the seed of the thread's default generator, and
// epoch 0.
autograd::Generator item_generator(std::int64_t index);

struct PassSeed {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  // Whether workers of a DataLoader make the batches, in parallel.
  bool has_workers = false;
};
bool pass_has_workers();

// Makes item_generator() follow `pass` on this thread while it lives.
// DataLoaders have one.
class PassScope {
 public:
  explicit PassScope(const PassSeed& pass);
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  const PassSeed pass_;
  const PassSeed* const before_;
};

}  // namespace data
}  // namespace hvd
