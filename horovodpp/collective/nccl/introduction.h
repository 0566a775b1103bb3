// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other before they use NCCL, and what all of them conclude from
// it: whether they use it between them, and if not, why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/nccl/arena.h"
#include "horovodpp/device/cuda_api.h"

namespace hvd::collective {

// Of one rank; travels as it is.
struct NcclIntroduction {
  // OK, or why this rank cannot.
  static NcclIntroduction refusal(const absl::Status& why);

  std::uint8_t is_able = 0;
  // Whether it lets ranks share a GPU.
  std::uint8_t may_share = 0;
  // Whether its GPU takes the kernels that put tensors together.
  std::uint8_t packs = 0;
  std::int32_t version = 0;
  device::CuUuid gpu = {};
  NcclUniqueId id = {};  // Of rank 0: what the communicator is made with.
  // The sizes of what it can register with the communicator; 0: no more.
  std::array<std::uint64_t, NcclArena::kMostWindows> windows = {};
  std::array<char, 360> why = {};  // Where it is not able.
};

// OK if all of them can use NCCL together, else why not: names a rank of `members`,
// ranks of the job. The same on all ranks.
absl::Status check_introductions(std::span<const NcclIntroduction> all,
                                 const std::vector<int>& members);

// How many windows, from the first on, all of them have in the same sizes.
std::size_t common_windows(std::span<const NcclIntroduction> all);

}  // namespace hvd::collective
