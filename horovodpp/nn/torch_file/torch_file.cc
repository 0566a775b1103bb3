// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/torch_file/torch_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/nn/torch_file/archive.h"
#include "horovodpp/nn/torch_file/pickle.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are read as they lie in the file");

// Deeper or longer trees contain themselves.
constexpr int kDeepest = 64;
constexpr std::size_t kMostValues = std::size_t{1} << 22;
constexpr std::uint64_t kLargestPickle = std::uint64_t{1} << 28;

// Makes the tensors of a file.
class TorchFileReader {
 public:
  explicit TorchFileReader(const std::string& path)
      : archive_(path), pickle_(read_pickle()) {}
  TorchFile read() {
    visit(pickle_.root, "", 0);
    return std::move(file_);
  }

 private:
  Pickle read_pickle();
  void visit(ValueId id, const std::string& name, int depth);
  std::optional<std::string> key_of(ValueId id) const;
  Tensor make(const std::string& name, const PickledTensor& tensor);
  Tensor storage(const PickledStorage& storage);
  [[noreturn]] void fail_damaged(const std::string& text) const {
    archive_.fail(absl::DataLossError(text));
  }

  Archive archive_;
  const Pickle pickle_;
  TorchFile file_;
  std::size_t visited_ = 0;
  absl::flat_hash_map<std::string, Tensor> storages_;  // By key.
};

Pickle TorchFileReader::read_pickle() {
  if (archive_.find("constants.pkl") != nullptr) {
    archive_.fail(absl::UnimplementedError(
        "it is a TorchScript program; save the state_dict of the module"));
  }
  if (const ZipRecord* order = archive_.find("byteorder");
      order != nullptr && order->bytes == 3) {
    archive_.fail(absl::UnimplementedError(
        "its elements are big-endian; load it in Python and save it again"));
  }
  const ZipRecord& record = *archive_.find("data.pkl");
  if (record.bytes > kLargestPickle) fail_damaged("its data.pkl is too large");
  std::string bytes(record.bytes, '\0');
  archive_.read(record, bytes.data());
  auto pickle = parse_pickle(bytes);
  if (!pickle.ok()) archive_.fail(pickle.status());
  return *std::move(pickle);
}

// The key of a dict as a part of names.
std::optional<std::string> TorchFileReader::key_of(ValueId id) const {
  if (const auto* text = std::get_if<std::string>(&pickle_[id])) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&pickle_[id])) {
    return absl::StrCat(*number);
  }
  return std::nullopt;
}

void TorchFileReader::visit(ValueId id, const std::string& name, int depth) {
  if (depth > kDeepest || ++visited_ > kMostValues) {
    fail_damaged("its dicts and lists are nested too deep or too many");
  }
  const auto below = [&](const std::string& key, ValueId item) {
    visit(item, name.empty() ? key : absl::StrCat(name, ".", key), depth + 1);
  };
  const PickledValue& value = pickle_[id];
  if (const auto* dict = std::get_if<PickledDict>(&value)) {
    for (const auto& [key, item] : dict->entries) {
      const auto text = key_of(key);
      if (!text) fail_damaged("a dict has a key that is no text or number");
      below(*text, item);
    }
  } else if (const auto* list = std::get_if<PickledList>(&value)) {
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      below(absl::StrCat(i), list->items[i]);
    }
  } else if (const auto* tensor = std::get_if<PickledTensor>(&value)) {
    file_.tensors.push_back({name, make(name, *tensor)});
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    file_.tensors.push_back(
        {name, full({}, *flag ? 1 : 0, {.dtype = DType::kBool})});
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    file_.tensors.push_back({name, count_tensor(*number)});
  } else if (const auto* real = std::get_if<double>(&value)) {
    file_.tensors.push_back({name, scalar_tensor(*real)});
  } else {
    file_.others.push_back(name);
  }
}

Tensor TorchFileReader::make(const std::string& name,
                             const PickledTensor& tensor) {
  if (tensor.shape.size() > autograd::Dims::kMax) {
    archive_.fail(absl::UnimplementedError(
        absl::StrCat("tensor '", name, "' has ", tensor.shape.size(),
                     " dimensions; there may be ", autograd::Dims::kMax)));
  }
  const autograd::Dims shape{std::span<const std::int64_t>(tensor.shape)};
  const autograd::Dims strides{std::span<const std::int64_t>(tensor.strides)};
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) !=
      tensor.shape.end()) {
    return empty(shape, {.dtype = tensor.storage.dtype});
  }
  return autograd::as_strided(storage(tensor.storage), shape, strides,
                              tensor.offset);
}

Tensor TorchFileReader::storage(const PickledStorage& storage) {
  const auto found = storages_.find(storage.key);
  if (found != storages_.end()) {
    if (found->second.dtype() == storage.dtype &&
        found->second.num_elements() == storage.elements) {
      return found->second;
    }
    fail_damaged(
        absl::StrCat("storage '", storage.key, "' has two types or sizes"));
  }
  const ZipRecord* record = archive_.find("data/" + storage.key);
  if (record == nullptr) {
    fail_damaged(absl::StrCat("storage '", storage.key, "' is missing"));
  }
  if (record->bytes / size_of(storage.dtype) !=
          static_cast<std::uint64_t>(storage.elements) ||
      record->bytes % size_of(storage.dtype) != 0) {
    fail_damaged(absl::StrCat("storage '", storage.key, "' should have ",
                              storage.elements, " elements of ",
                              name_of(storage.dtype), ", but has ",
                              record->bytes, " bytes"));
  }
  Tensor memory = empty({storage.elements}, {.dtype = storage.dtype});
  archive_.read(*record, memory.raw_data());
  if (storage.dtype == DType::kBool) {
    // Reading another byte as bool would be undefined behavior.
    const auto* bytes = static_cast<const std::uint8_t*>(memory.raw_data());
    if (std::any_of(bytes, bytes + memory.bytes(),
                    [](std::uint8_t byte) { return byte > 1; })) {
      fail_damaged(absl::StrCat("storage '", storage.key,
                                "' is bool, but has bytes above 1"));
    }
  }
  storages_.emplace(storage.key, memory);
  return memory;
}

}  // namespace

TorchFile load_torch_file(const std::string& path) {
  return TorchFileReader(path).read();
}

}  // namespace hvd::nn
