// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/torch_file/pickled_calls.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/shape.h"
#include "horovodpp/core/status.h"

namespace hvd::nn {
namespace {

constexpr std::pair<const char*, DType> kStorages[] = {
    {"torch.BoolStorage", DType::kBool},
    {"torch.ByteStorage", DType::kU8},
    {"torch.CharStorage", DType::kI8},
    {"torch.ShortStorage", DType::kI16},
    {"torch.IntStorage", DType::kI32},
    {"torch.LongStorage", DType::kI64},
    {"torch.HalfStorage", DType::kF16},
    {"torch.BFloat16Storage", DType::kBF16},
    {"torch.FloatStorage", DType::kF32},
    {"torch.DoubleStorage", DType::kF64}};

// Other values are copied once at most, so that a small pickle cannot grow.
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kLongestKey = 256;

template <typename T>
const T* argument(const Pickle& pickle, const PickledList& list,
                  std::size_t i) {
  return i < list.items.size() ? std::get_if<T>(&pickle[list.items[i]])
                               : nullptr;
}

// Nonnegative numbers.
std::optional<std::vector<std::int64_t>> numbers_of(const Pickle& pickle,
                                                    const PickledList* list) {
  if (list == nullptr || list->items.size() > kMostDimensions) {
    return std::nullopt;
  }
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const auto* number = argument<std::int64_t>(pickle, *list, i);
    if (number == nullptr || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Whether all elements lie inside the storage.
bool fits(const PickledTensor& tensor) {
  const Shape shape{std::span<const std::int64_t>(tensor.shape)};
  if (!shape.checked(size_of(tensor.storage.dtype)).ok()) return false;
  if (shape.num_elements() == 0) return true;
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i],
                               &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last < tensor.storage.elements;
}

// _rebuild_tensor_v2(storage, offset, shape, strides, ...)
absl::StatusOr<PickledValue> rebuild_tensor(const Pickle& pickle,
                                            const PickledList& arguments) {
  const auto* storage = argument<PickledStorage>(pickle, arguments, 0);
  const auto* offset = argument<std::int64_t>(pickle, arguments, 1);
  auto shape = numbers_of(pickle, argument<PickledList>(pickle, arguments, 2));
  auto strides =
      numbers_of(pickle, argument<PickledList>(pickle, arguments, 3));
  if (storage == nullptr || offset == nullptr || *offset < 0 || !shape ||
      !strides || shape->size() != strides->size()) {
    return absl::DataLossError("a tensor has no storage, shape or strides");
  }
  PickledTensor tensor = {.storage = *storage,
                          .offset = *offset,
                          .shape = *std::move(shape),
                          .strides = *std::move(strides)};
  if (!fits(tensor)) {
    return absl::DataLossError(absl::StrCat(
        "a tensor has elements outside its storage '", storage->key, "'"));
  }
  return tensor;
}

}  // namespace

absl::StatusOr<PickledValue> call_pickled(const Pickle& pickle,
                                          const std::string& function,
                                          const PickledList& arguments) {
  if (function == "torch._utils._rebuild_tensor_v2") {
    return rebuild_tensor(pickle, arguments);
  }
  if (function == "torch._utils._rebuild_parameter" ||
      function == "torch._utils._rebuild_parameter_with_state") {
    const auto* tensor = argument<PickledTensor>(pickle, arguments, 0);
    if (tensor != nullptr) return *tensor;
    return absl::DataLossError("a parameter has no tensor");
  }
  if (function == "torch.Size") {
    const auto* sizes = argument<PickledList>(pickle, arguments, 0);
    if (numbers_of(pickle, sizes)) return *sizes;
    return absl::DataLossError("a torch.Size has no sizes");
  }
  if (function == "collections.OrderedDict" && arguments.items.empty()) {
    return PickledDict{};
  }
  return absl::UnimplementedError(absl::StrCat(
      "it needs Python's '", function,
      "', and only tensors, numbers, texts, lists and dicts are read; save "
      "these alone, as torch.save(model.state_dict(), file) does"));
}

absl::StatusOr<PickledStorage> storage_of(const Pickle& pickle,
                                          const PickledList& identifier) {
  const auto* kind = argument<std::string>(pickle, identifier, 0);
  const auto* type = argument<PickledGlobal>(pickle, identifier, 1);
  const auto* key = argument<std::string>(pickle, identifier, 2);
  const auto* elements = argument<std::int64_t>(pickle, identifier, 4);
  if (kind == nullptr || *kind != "storage" || type == nullptr ||
      key == nullptr || key->size() > kLongestKey || elements == nullptr ||
      *elements < 0) {
    return absl::DataLossError("a storage has no type, key or size");
  }
  for (const auto& [name, dtype] : kStorages) {
    if (type->name == name) {
      return PickledStorage{*key, dtype, *elements};
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      "storage '", *key, "' is a ", type->name,
      ", whose elements no Tensor has; convert it before it is saved"));
}

}  // namespace hvd::nn
