// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/objects.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {

std::shared_ptr<Runtime> job_of(Runtime* given) {
  if (given == nullptr) return value_or_throw(find_runtime());
  return std::shared_ptr<Runtime>(std::shared_ptr<void>(), given);
}

std::string broadcast_object(const std::string& bytes, int root_rank,
                             const ObjectOptions& options) {
  const std::shared_ptr<Runtime> job = job_of(options.runtime);
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
  const std::shared_ptr<Runtime> job = job_of(options.runtime);
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

namespace {

// An empty message says that the value could not be encoded: no encoded value
// is empty.
struct Message {
  std::string bytes;
  std::string error;
};

Message message_of(const Value& value, const ValueLimits& limits) {
  try {
    return {encoded(value, limits), ""};
  } catch (const InvalidArgument& error) {
    return {"", error.what()};
  }
}

Value value_from(const std::string& bytes, int rank,
                 const ValueLimits& limits) {
  if (!bytes.empty()) return decoded(bytes, limits);
  throw Error(absl::InvalidArgumentError(absl::StrCat(
      "rank ", rank, " could not send its value; see the error of that rank")));
}

}  // namespace

Value broadcast_object(const Value& value, int root_rank,
                       const ObjectOptions& options) {
  const bool is_root = job_of(options.runtime)->topology().rank() == root_rank;
  const Message mine = is_root ? message_of(value, options.limits) : Message();
  const std::string bytes = broadcast_object(mine.bytes, root_rank, options);
  if (!mine.error.empty()) throw InvalidArgument(mine.error);
  return is_root ? value : value_from(bytes, root_rank, options.limits);
}

std::vector<Value> allgather_object(const Value& value,
                                    const ObjectOptions& options) {
  const Message mine = message_of(value, options.limits);
  const std::vector<std::string> all = allgather_object(mine.bytes, options);
  if (!mine.error.empty()) throw InvalidArgument(mine.error);
  std::vector<Value> result;
  for (const std::string& bytes : all) {
    result.push_back(
        value_from(bytes, static_cast<int>(result.size()), options.limits));
  }
  return result;
}

}  // namespace hvd::replica
