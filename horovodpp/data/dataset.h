// SPDX-License-Identifier: Apache-2.0
// A Dataset is a numbered collection of items. An item is a few tensors, such
// as an image and its label, or a text and its continuation.
//
//   struct Squares : hvd::data::Dataset {
//     std::int64_t size() const override { return 100; }
//     hvd::data::Item get(std::int64_t i) const override {
//       return {hvd::full({}, i), hvd::full({}, i * i)};
//     }
//   };
//
// Several threads call get() and get_batch() concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

using Item = std::vector<Tensor>;
// The stacked tensors of several items, with the items as first dimension.
using Batch = std::vector<Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  virtual std::int64_t size() const = 0;

  // Item `index`, below size(). Draw random numbers, for augmentation, from the
  // thread's default generator, which a DataLoader seeds for each batch.
  virtual Item get(std::int64_t index) const = 0;

  // The items as one batch: the results of get(), stacked. Override it where a
  // batch costs less than its items.
  //   InvalidArgument  items differ in number, shape or dtype of their tensors
  //   hvd::Error       get() threw; names the item, and nests the exception
  virtual Batch get_batch(std::span<const std::int64_t> indices) const;
};

// The rows of tensors of equal length; copies only the rows it returns.
class TensorDataset : public Dataset {
 public:
  //   InvalidArgument  `tensors` is empty, or first dimensions differ
  explicit TensorDataset(std::vector<Tensor> tensors);

  std::int64_t size() const override { return tensors_[0].size(0); }
  Item get(std::int64_t index) const override;
  Batch get_batch(std::span<const std::int64_t> indices) const override;

 private:
  std::vector<Tensor> tensors_;  // One item per row.
};

}  // namespace data
}  // namespace hvd
