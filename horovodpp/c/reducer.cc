// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/c/arguments.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/handles.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/c/process_sets.h"
#include "horovodpp/compression/compressors.h"
#include "horovodpp/core/status.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/global.h"

namespace hvd::c {
namespace {

using replica::GradientReducer;
using replica::ReducerOptions;

Handles<GradientReducer>& reducers() {
  static auto* const handles =
      new Handles<GradientReducer>(HandleKind::kReducer);
  return *handles;
}

absl::StatusOr<std::vector<std::vector<std::string>>> groups_of(
    const hvd_reducer_options& read) {
  std::vector<std::vector<std::string>> groups;
  if (read.num_groups == 0) return groups;
  HVD_RETURN_IF_ERROR(check_not_null(read.group_sizes, "group_sizes"));
  HVD_RETURN_IF_ERROR(check_not_null(read.group_keys, "group_keys"));
  const char* const* next = read.group_keys;
  for (std::size_t group = 0; group < read.num_groups; ++group) {
    std::vector<std::string>& keys = groups.emplace_back();
    for (std::size_t i = 0; i < read.group_sizes[group]; ++i, ++next) {
      HVD_RETURN_IF_ERROR(check_not_null(*next, "a key of a group"));
      keys.emplace_back(*next);
    }
  }
  return groups;
}

absl::StatusOr<std::shared_ptr<compression::Compressor>> compressor_of(
    const hvd_reducer_options& read) {
  switch (read.compression) {
    case HVD_COMPRESSION_NONE:
      return nullptr;
    case HVD_COMPRESSION_FLOAT16:
      return compression::fp16();
    case HVD_COMPRESSION_BFLOAT16:
      return compression::bf16();
    case HVD_COMPRESSION_INT8:
      return compression::int8_blocks();
    case HVD_COMPRESSION_TOP_K:
      return compression::top_k({.share = read.top_k_share,
                                 .warmup_steps = read.compression_warmup_steps,
                                 .warmup_share = read.top_k_warmup_share,
                                 .momentum = read.compression_momentum,
                                 .mask_velocity = read.top_k_mask_velocity != 0,
                                 .whole_below = read.top_k_whole_below,
                                 .max_norm = read.top_k_max_norm});
    case HVD_COMPRESSION_SIGNS:
      return compression::signs({.warmup_steps = read.compression_warmup_steps,
                                 .momentum = read.compression_momentum});
    case HVD_COMPRESSION_POWER_SGD:
      return compression::power_sgd(read.power_sgd_rank);
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no compression with number ", read.compression));
  }
}

absl::StatusOr<ReducerOptions> reducer_options(const hvd_reducer_options* given,
                                               const Runtime& job) {
  HVD_ASSIGN_OR_RETURN(const hvd_reducer_options read,
                       read_options(given, HVD_REDUCER_OPTIONS));
  if (read.reserved != 0) {
    return absl::InvalidArgumentError(
        "a reserved field of the options is not 0; initialize them with "
        "HVD_REDUCER_OPTIONS");
  }
  if (read.compute_threads < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("compute_threads is ", read.compute_threads,
                     "; give a number of threads, or 0"));
  }
  ReducerOptions options;
  if (read.compute_threads > 0) {
    options.bucket_bytes =
        replica::best_bucket_bytes(job, read.compute_threads);
  }
  HVD_ASSIGN_OR_RETURN(options.op, op_of(read.op));
  HVD_ASSIGN_OR_RETURN(options.process_set, set_of(read.process_set));
  HVD_ASSIGN_OR_RETURN(options.groups, groups_of(read));
  HVD_ASSIGN_OR_RETURN(options.compressor, compressor_of(read));
  options.gradient_predivide_factor = read.gradient_predivide_factor;
  options.scale = read.scale;
  if (read.name != nullptr) options.name = read.name;
  return options;
}

// Calls `body` with the reducer of this handle, if there is one.
template <typename Body>
std::int32_t with(hvd_reducer handle, Body body) noexcept {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto reducer, reducers().find(handle));
    return body(*reducer);
  });
}

}  // namespace
}  // namespace hvd::c

namespace {

using hvd::Status;
using hvd::c::call;
using hvd::c::check_not_null;
using hvd::c::with;
using hvd::replica::GradientPiece;
using hvd::replica::GradientReducer;

}  // namespace

std::int32_t hvd_reducer_create(const hvd_reducer_options* options,
                                hvd_reducer* reducer) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(reducer, "reducer"));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::reducer_options(options, *runtime));
    *reducer = hvd::c::reducers().add(
        std::make_shared<GradientReducer>(*runtime, std::move(read)));
    return {};
  });
}

std::int32_t hvd_reducer_destroy(hvd_reducer reducer) {
  return call([&] { return hvd::c::reducers().take(reducer).status(); });
}

std::int32_t hvd_reducer_add(hvd_reducer reducer, const char* key,
                             const hvd_tensor* gradient) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(key, "key"));
    HVD_RETURN_IF_ERROR(check_not_null(gradient, "gradient"));
    HVD_ASSIGN_OR_RETURN(hvd::TensorView view, hvd::c::view_of(*gradient));
    found.add(key, view);
    return {};
  });
}

std::int32_t hvd_reducer_add_pieces(hvd_reducer reducer, void* data,
                                    std::int64_t elements, std::int32_t dtype,
                                    const hvd_gradient_piece* pieces,
                                    std::size_t count) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    HVD_ASSIGN_OR_RETURN(const hvd::TensorView view,
                         hvd::c::flat_view(data, elements, dtype));
    if (count > 0) HVD_RETURN_IF_ERROR(check_not_null(pieces, "pieces"));
    std::vector<GradientPiece> cut;
    for (std::size_t i = 0; i < count; ++i) {
      HVD_RETURN_IF_ERROR(check_not_null(pieces[i].key, "the key of a piece"));
      cut.push_back({pieces[i].key, pieces[i].offset, pieces[i].elements});
    }
    found.add(view, cut);
    return {};
  });
}

std::int32_t hvd_reducer_expect(hvd_reducer reducer, const char* key,
                                std::int32_t contributions) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(key, "key"));
    found.expect(key, contributions);
    return {};
  });
}

std::int32_t hvd_reducer_contribute(hvd_reducer reducer, const char* key,
                                    std::int32_t* last) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(key, "key"));
    HVD_RETURN_IF_ERROR(check_not_null(last, "last"));
    *last = found.contribute(key) ? 1 : 0;
    return {};
  });
}

std::int32_t hvd_reducer_rest(hvd_reducer reducer, const char* const* keys,
                              std::size_t count, const std::uint8_t* exist,
                              std::uint8_t* rest) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    if (count == 0) return {};
    HVD_RETURN_IF_ERROR(check_not_null(keys, "keys"));
    HVD_RETURN_IF_ERROR(check_not_null(rest, "rest"));
    std::vector<hvd::replica::GradientSlot> slots;
    for (std::size_t i = 0; i < count; ++i) {
      HVD_RETURN_IF_ERROR(check_not_null(keys[i], "a key"));
      slots.push_back(found.slot(keys[i]));
    }
    std::vector<std::uint8_t> known;
    if (exist != nullptr) known.assign(exist, exist + count);
    std::fill_n(rest, count, std::uint8_t{0});
    for (const std::size_t i : found.rest(slots, known)) rest[i] = 1;
    return {};
  });
}

std::int32_t hvd_reducer_finish(hvd_reducer reducer) {
  return with(reducer, [](GradientReducer& found) -> Status {
    found.finish();
    return {};
  });
}

std::int32_t hvd_reducer_discard(hvd_reducer reducer) {
  return with(reducer, [](GradientReducer& found) -> Status {
    found.discard();
    return {};
  });
}

std::int32_t hvd_reducer_sum(hvd_reducer reducer, const char* key,
                             double* values, std::size_t count) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(key, "key"));
    HVD_RETURN_IF_ERROR(check_not_null(values, "values"));
    const std::vector<double> sums = found.sum(key, {values, values + count});
    std::copy(sums.begin(), sums.end(), values);
    return {};
  });
}

std::int32_t hvd_reducer_get_stats(hvd_reducer reducer,
                                   hvd_reducer_stats* stats) {
  return with(reducer, [&](GradientReducer& found) -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(stats, "stats"));
    const hvd::replica::ReducerStats counted = found.stats();
    return hvd::c::write_known<hvd_reducer_stats>(
        {0, counted.gradients, counted.bytes, counted.sent_bytes}, stats);
  });
}
