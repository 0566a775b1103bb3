// SPDX-License-Identifier: Apache-2.0
// The job of this process, as in horovodpp/runtime/global.h; and process sets.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/error.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// Enters the job this process was started in; without a launcher, a job of one.
inline void init() { internal::throw_if_error(hvd_init(HVD_C_VERSION)); }
inline void shutdown() { internal::throw_if_error(hvd_shutdown()); }
inline bool is_initialized() { return hvd_is_initialized() != 0; }

//   Error (HVD_FAILED_PRECONDITION)  there is no job
inline int rank() { return internal::number_or_throw(hvd_rank()); }
inline int size() { return internal::number_or_throw(hvd_size()); }
inline int local_rank() { return internal::number_or_throw(hvd_local_rank()); }
inline int local_size() { return internal::number_or_throw(hvd_local_size()); }

// Some ranks of the job; all of them by default. add_process_set() creates
// others. Copies denote the same set.
class ProcessSet {
 public:
  ProcessSet() = default;
  explicit ProcessSet(hvd_process_set handle) : handle_(handle) {}

  hvd_process_set handle() const { return handle_; }

  // In ascending order.
  std::vector<int> ranks() const {
    std::size_t count = 0;
    internal::throw_if_error(
        hvd_process_set_ranks(handle_, nullptr, 0, &count));
    std::vector<std::int32_t> found(count);
    internal::throw_if_error(
        hvd_process_set_ranks(handle_, found.data(), count, &count));
    return {found.begin(), found.end()};
  }
  int size() const { return static_cast<int>(ranks().size()); }
  // Whether this rank is a member.
  bool included() const {
    std::int32_t place = 0;
    return hvd_process_set_rank(handle_, &place) == HVD_OK;
  }
  // This rank's position among the members.
  //   Error (HVD_INVALID_ARGUMENT)  it is not a member
  int rank() const {
    std::int32_t place = 0;
    internal::throw_if_error(hvd_process_set_rank(handle_, &place));
    return place;
  }

 private:
  hvd_process_set handle_ = HVD_GLOBAL_PROCESS_SET;
};

// Every rank of the job calls these, whether or not it is a member.
inline ProcessSet add_process_set(const std::vector<int>& ranks) {
  const std::vector<std::int32_t> members(ranks.begin(), ranks.end());
  hvd_process_set handle = HVD_GLOBAL_PROCESS_SET;
  internal::throw_if_error(
      hvd_add_process_set(members.data(), members.size(), &handle));
  return ProcessSet(handle);
}
inline void remove_process_set(const ProcessSet& set) {
  internal::throw_if_error(hvd_remove_process_set(set.handle()));
}

}  // namespace libtorch
}  // namespace hvd
