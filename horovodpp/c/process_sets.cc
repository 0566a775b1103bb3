// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/process_sets.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "horovodpp/c/call.h"
#include "horovodpp/c/handles.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::c {
namespace {

Handles<const ProcessSet>& process_sets() {
  static auto* const handles =
      new Handles<const ProcessSet>(HandleKind::kProcessSet);
  return *handles;
}

}  // namespace

absl::StatusOr<ProcessSet> set_of(hvd_process_set handle) {
  if (handle == HVD_GLOBAL_PROCESS_SET) return ProcessSet::global();
  HVD_ASSIGN_OR_RETURN(const auto found, process_sets().find(handle));
  return *found;
}

}  // namespace hvd::c

namespace {

using hvd::Status;
using hvd::c::call;
using hvd::c::check_not_null;

}  // namespace

std::int32_t hvd_add_process_set(const std::int32_t* ranks, std::size_t count,
                                 hvd_process_set* set) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(set, "set"));
    if (count > 0) HVD_RETURN_IF_ERROR(check_not_null(ranks, "ranks"));
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet added,
                         hvd::add_process_set({ranks, ranks + count}));
    *set = hvd::c::process_sets().add(
        std::make_shared<const hvd::ProcessSet>(added));
    return {};
  });
}

std::int32_t hvd_remove_process_set(hvd_process_set set) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_RETURN_IF_ERROR(hvd::remove_process_set(found));
    return hvd::c::process_sets().take(set).status();
  });
}

std::int32_t hvd_new_process_set(const std::int32_t* ranks, std::size_t count,
                                 const char* key, hvd_process_set* set) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(set, "set"));
    HVD_RETURN_IF_ERROR(check_not_null(key, "key"));
    if (count > 0) HVD_RETURN_IF_ERROR(check_not_null(ranks, "ranks"));
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet made,
                         hvd::new_process_set({ranks, ranks + count}, key));
    *set = hvd::c::process_sets().add(
        std::make_shared<const hvd::ProcessSet>(made));
    return {};
  });
}

std::int32_t hvd_free_process_set(hvd_process_set set) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_RETURN_IF_ERROR(hvd::free_process_set(found));
    return hvd::c::process_sets().take(set).status();
  });
}

std::int32_t hvd_process_set_ranks(hvd_process_set set, std::int32_t* ranks,
                                   std::size_t capacity, std::size_t* count) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(count, "count"));
    if (capacity > 0) HVD_RETURN_IF_ERROR(check_not_null(ranks, "ranks"));
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    HVD_ASSIGN_OR_RETURN(const std::vector<int> members,
                         runtime->ranks_of(found));
    std::copy_n(members.begin(), std::min(capacity, members.size()), ranks);
    *count = members.size();
    return {};
  });
}

std::int32_t hvd_process_set_rank(hvd_process_set set, std::int32_t* rank) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(rank, "rank"));
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    HVD_ASSIGN_OR_RETURN(*rank, runtime->rank_in(found));
    return {};
  });
}
