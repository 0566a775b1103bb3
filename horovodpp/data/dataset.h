// SPDX-License-Identifier: Apache-2.0
// A Dataset is a numbered collection of items, each a few tensors (an image and
// its label, a text and the text that follows it).
//
//   struct Squares : hvd::data::Dataset {
//     std::int64_t size() const override { return 100; }
//     hvd::data::Item get(std::int64_t i) const override {
//       return {hvd::full({}, i), hvd::full({}, i * i)};
//     }
//   };
//
// Several threads call get() and get_batch() at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

using Item = std::vector<Tensor>;
// Every tensor of the items, with their number as first dimension.
using Batch = std::vector<Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  virtual std::int64_t size() const = 0;

  // Item `index`, below size(). Random numbers, for augmentations, come from
  // the thread's default generator, which a DataLoader seeds for each batch.
  virtual Item get(std::int64_t index) const = 0;

  // The items as one batch: what get() returns, stacked. To be overridden where
  // a batch is made at less cost than its items.
  //   InvalidArgument  items differ in number, shape or dtype of their tensors
  //   hvd::Error       get() threw; names the item, and nests the exception
  virtual Batch get_batch(std::span<const std::int64_t> indices) const;
};

// Rows of tensors that have as many of them; copies nothing but what it gives.
class TensorDataset : public Dataset {
 public:
  //   InvalidArgument  there are none, or they differ in their first dimension
  explicit TensorDataset(std::vector<Tensor> tensors);

  std::int64_t size() const override { return tensors_[0].size(0); }
  Item get(std::int64_t index) const override;
  Batch get_batch(std::span<const std::int64_t> indices) const override;

 private:
  std::vector<Tensor> tensors_;  // By rows.
};

}  // namespace data
}  // namespace hvd
