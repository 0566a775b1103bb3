// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/objects.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {
namespace {

// The current one is kept for as long as it is worked with.
std::shared_ptr<Runtime> job_of(const ObjectOptions& options) {
  if (options.runtime == nullptr) return value_or_throw(find_runtime());
  return std::shared_ptr<Runtime>(std::shared_ptr<void>(), options.runtime);
}

}  // namespace

std::string broadcast_object(const std::string& bytes, int root_rank,
                             const ObjectOptions& options) {
  const std::shared_ptr<Runtime> job = job_of(options);
  const auto broadcast = [&](TensorView view, const char* what) {
    throw_if_error(
        job->broadcast_async_(std::move(view), root_rank,
                              {.name = absl::StrCat(options.name, what),
                               .process_set = options.process_set})
            .wait());
  };
  auto size = static_cast<std::int64_t>(bytes.size());
  broadcast(TensorView::of(&size, {1}), ".size");
  std::string result = bytes;
  result.resize(static_cast<std::size_t>(size));
  broadcast(
      TensorView::of(reinterpret_cast<std::uint8_t*>(result.data()), {size}),
      ".bytes");
  return result;
}

std::vector<std::string> allgather_object(const std::string& bytes,
                                          const ObjectOptions& options) {
  const std::shared_ptr<Runtime> job = job_of(options);
  const auto gather = [&](const ConstTensorView& view, const char* what) {
    return value_or_throw(
        job->allgather_async(view, {.name = absl::StrCat(options.name, what),
                                    .process_set = options.process_set})
            .take());
  };
  const auto size = static_cast<std::int64_t>(bytes.size());
  const Buffer sizes = gather(ConstTensorView::of(&size, {1}), ".size");
  const Buffer all = gather(
      ConstTensorView(bytes.data(), DType::kU8, Shape({size})), ".bytes");
  std::vector<std::string> result;
  const auto* next = static_cast<const char*>(all.view().data());
  for (std::int64_t r = 0; r < sizes.num_elements(); ++r) {
    const auto length = static_cast<std::size_t>(sizes.data<std::int64_t>()[r]);
    result.emplace_back(next, length);
    next += length;
  }
  return result;
}

}  // namespace hvd::replica
