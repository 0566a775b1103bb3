// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/introduction.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "horovodpp/collective/nccl/api.h"

namespace hvd::collective {
namespace {

// A peer's text need not be terminated.
absl::string_view text_of(const std::array<char, 360>& text) {
  const auto end = std::find(text.begin(), text.end(), '\0');
  return {text.data(), static_cast<std::size_t>(end - text.begin())};
}

bool is_same(const device::CuUuid& a, const device::CuUuid& b) {
  return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

std::string shared_gpu(const std::vector<int>& members, std::size_t i,
                       std::size_t j) {
  return absl::StrCat("ranks ", members[j], " and ", members[i],
                      " share a GPU");
}

}  // namespace

NcclIntroduction NcclIntroduction::refusal(const absl::Status& why) {
  NcclIntroduction refusal;
  const absl::string_view text = why.message();
  std::copy_n(text.begin(), std::min(text.size(), refusal.why.size()),
              refusal.why.begin());
  return refusal;
}

absl::Status check_introductions(std::span<const NcclIntroduction> all,
                                 const std::vector<int>& members) {
  bool may_share = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_able == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", members[i], ": ", text_of(all[i].why)));
    }
    if (all[i].version != all[0].version) {
      return absl::FailedPreconditionError(absl::StrCat(
          "rank ", members[0], " has NCCL ", nccl_version_text(all[0].version),
          ", and rank ", members[i], " has ", nccl_version_text(all[i].version),
          "; give all of them the same"));
    }
    may_share = may_share && all[i].may_share != 0 &&
                all[i].version >= NcclLibrary::kSharingVersion;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_same(all[i].gpu, all[j].gpu)) continue;
      if (!may_share) {
        return absl::FailedPreconditionError(
            absl::StrCat(shared_gpu(members, i, j), ", which takes NCCL ",
                         nccl_version_text(NcclLibrary::kSharingVersion),
                         " and NCCL_MULTI_RANK_GPU_ENABLE=1"));
      }
      // NCCL 2.31 hung. Probably one rank's kernel waits for another rank's, and
      // that rank's thread for the GPU, as when the driver frees memory.
      if (all[i].process == all[j].process) {
        return absl::FailedPreconditionError(absl::StrCat(
            shared_gpu(members, i, j),
            " and are threads of one process; NCCL takes a process for each"));
      }
    }
  }
  return absl::OkStatus();
}

std::size_t common_windows(std::span<const NcclIntroduction> all) {
  std::size_t count = 0;
  const auto is_common = [&](const NcclIntroduction& one) {
    return one.windows[count] != 0 &&
           one.windows[count] == all.front().windows[count];
  };
  while (count < NcclArena::kMaxWindows &&
         std::all_of(all.begin(), all.end(), is_common)) {
    ++count;
  }
  return count;
}

}  // namespace hvd::collective
