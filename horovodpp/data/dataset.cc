// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/dataset.h"

#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {
namespace {

Item get_named(const Dataset& dataset, std::int64_t index) {
  try {
    return dataset.get(index);
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(
        absl::UnknownError(absl::StrCat("item ", index, ": ", error.what()))));
  } catch (...) {
    std::throw_with_nested(Error(absl::UnknownError(absl::StrCat(
        "item ", index, " threw an object that is no std::exception"))));
  }
}

std::string describe(const Item& item) {
  std::string text;
  for (const Tensor& tensor : item) {
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    tensor.defined() ? tensor.describe() : "undefined");
  }
  return absl::StrCat("(", text, ")");
}

void check_alike(const Item& first, std::int64_t first_index, const Item& item,
                 std::int64_t index) {
  bool alike = first.size() == item.size();
  for (std::size_t k = 0; alike && k < item.size(); ++k) {
    alike = item[k].defined() && first[k].defined() &&
            item[k].shape() == first[k].shape() &&
            item[k].dtype() == first[k].dtype();
  }
  if (alike) return;
  throw InvalidArgument(absl::StrCat(
      "items of a batch differ: item ", first_index, " is ", describe(first),
      ", and item ", index, " is ", describe(item)));
}

}  // namespace

Batch Dataset::get_batch(std::span<const std::int64_t> indices) const {
  std::vector<Item> items;
  for (const std::int64_t index : indices) {
    items.push_back(get_named(*this, index));
    check_alike(items[0], indices[0], items.back(), index);
  }
  Batch batch;
  for (std::size_t k = 0; !items.empty() && k < items[0].size(); ++k) {
    std::vector<Tensor> parts;
    for (const Item& item : items) parts.push_back(item[k]);
    batch.push_back(stack(parts));
  }
  return batch;
}

TensorDataset::TensorDataset(std::vector<Tensor> tensors) {
  if (tensors.empty()) throw InvalidArgument("a TensorDataset of no tensors");
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.dim() == 0 ||
        tensor.size(0) != tensors[0].size(0)) {
      throw InvalidArgument(absl::StrCat(
          "the tensors of a TensorDataset differ in their first dimension: ",
          describe(tensors)));
    }
    tensors_.push_back(tensor.detach().contiguous());
  }
}

Item TensorDataset::get(std::int64_t index) const {
  Item item;
  for (const Tensor& tensor : tensors_) item.push_back(tensor.select(0, index));
  return item;
}

Batch TensorDataset::get_batch(std::span<const std::int64_t> indices) const {
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= size()) {
      throw InvalidArgument(
          absl::StrCat("item ", index, " of a dataset of ", size()));
    }
  }
  Batch batch;
  for (const Tensor& tensor : tensors_) {
    autograd::Dims shape = tensor.shape();
    shape[0] = static_cast<std::int64_t>(indices.size());
    Tensor rows = empty(shape, {.dtype = tensor.dtype()});
    const std::size_t row =
        size() == 0 ? 0 : tensor.bytes() / static_cast<std::size_t>(size());
    auto* to = static_cast<std::byte*>(rows.raw_data());
    const auto* from = static_cast<const std::byte*>(tensor.raw_data());
    for (const std::int64_t index : indices) {
      if (row > 0) {
        std::memcpy(to, from + row * static_cast<std::size_t>(index), row);
      }
      to += row;
    }
    batch.push_back(std::move(rows));
  }
  return batch;
}

}  // namespace hvd::data
