// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/atomic_file.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/core/system/input_file.h"
#include "horovodpp/nn/safetensors_header.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are written as they lie in memory");

SafetensorsHeader read_header(InputFile& file) {
  std::array<std::uint8_t, SafetensorsHeader::kPrefixBytes> prefix{};
  if (file.bytes() < prefix.size()) {
    file.fail(absl::DataLossError(absl::StrCat("it is truncated: it has ",
                                               file.bytes(),
                                               " bytes, not even a length")));
  }
  file.read(prefix.data(), prefix.size());
  const auto length = safetensors_header_length(prefix, file.bytes());
  if (!length.ok()) file.fail(length.status());
  std::string json(*length, '\0');
  file.read(json.data(), json.size());
  auto header = parse_safetensors_header(
      json, file.bytes() - prefix.size() - json.size());
  if (!header.ok()) file.fail(header.status());
  return *std::move(header);
}

Tensor read_tensor(InputFile& file, const SafetensorsEntry& entry) {
  if (entry.shape.rank() > autograd::Dims::kMax) {
    file.fail(absl::UnimplementedError(
        absl::StrCat("tensor '", entry.name, "' has ", entry.shape.rank(),
                     " dimensions; there may be ", autograd::Dims::kMax)));
  }
  Tensor tensor = empty(entry.shape, {.dtype = entry.dtype});
  file.read(tensor.raw_data(), tensor.bytes());
  if (entry.dtype == DType::kBool) {
    // Reading another byte as bool would be undefined behavior.
    const auto* bytes = static_cast<const std::uint8_t*>(tensor.raw_data());
    if (std::any_of(bytes, bytes + tensor.bytes(),
                    [](std::uint8_t byte) { return byte > 1; })) {
      file.fail(absl::DataLossError(absl::StrCat(
          "tensor '", entry.name, "' is bool, but has bytes above 1")));
    }
  }
  return tensor;
}

// Sorts tensors in the order of the file.
std::vector<NamedTensor> by_size_of_elements(std::vector<NamedTensor> tensors) {
  absl::flat_hash_set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) {
      throw InvalidArgument(
          absl::StrCat("tensor '", name, "' to be saved is undefined"));
    }
    if (!names.insert(name).second) {
      throw InvalidArgument(
          absl::StrCat("two tensors to be saved are named '", name, "'"));
    }
  }
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const NamedTensor& a, const NamedTensor& b) {
                     return size_of(a.tensor.dtype()) >
                            size_of(b.tensor.dtype());
                   });
  return tensors;
}

}  // namespace

void save_safetensors(const std::string& path,
                      const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const std::vector<NamedTensor> ordered = by_size_of_elements(tensors);
  SafetensorsHeader header{.entries = {}, .metadata = metadata};
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : ordered) {
    const std::uint64_t begin = std::exchange(end, end + tensor.bytes());
    header.entries.push_back(
        {name, tensor.dtype(), tensor.shape().to_shape(), begin, end});
  }
  const auto text = format_safetensors_header(header);
  if (!text.ok()) {
    throw InvalidArgument(
        absl::StrCat("'", path, "': ", std::string(text.status().message())));
  }
  AtomicFile file(path);
  file.write(text->data(), text->size());
  for (const auto& [name, tensor] : ordered) {
    const Tensor rows = tensor.detach().contiguous();
    file.write(rows.raw_data(), rows.bytes());
  }
  file.commit();
}

SafetensorsFile load_safetensors(const std::string& path) {
  InputFile file(path);
  SafetensorsHeader header = read_header(file);
  SafetensorsFile result{.tensors = {}, .metadata = std::move(header.metadata)};
  for (const SafetensorsEntry& entry : header.entries) {
    result.tensors.push_back({entry.name, read_tensor(file, entry)});
  }
  return result;
}

}  // namespace hvd::nn
