// SPDX-License-Identifier: Apache-2.0
// The data that ranks exchange before they use NCCL, and its evaluation:
// whether they use NCCL between them, and if not, why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/nccl/memory.h"
#include "horovodpp/device/cuda_api.h"

namespace hvd::collective {

// One rank's data; sent as raw bytes.
struct NcclIntroduction {
  // Says that this rank cannot use NCCL, and why.
  static NcclIntroduction refusal(const absl::Status& why);

  std::uint8_t is_able = 0;
  // Whether this rank allows ranks to share a GPU.
  std::uint8_t may_share = 0;
  // Whether its GPU can load the kernels that pack tensors.
  std::uint8_t packs = 0;
  std::int32_t version = 0;
  std::uint64_t process = 0;  // Differs between processes.
  device::CuUuid gpu = {};
  NcclUniqueId id = {};  // Rank 0's, for the communicator.
  // The sizes of memory that it can register with the communicator; 0: no more.
  std::array<std::uint64_t, NcclArena::kMaxWindows> windows = {};
  std::array<char, 360> why = {};  // Set if it is not able.
};

// OK if all ranks can use NCCL together, else the reason, which names a rank of
// `members`, ranks of the job. The same on all ranks.
absl::Status check_introductions(std::span<const NcclIntroduction> all,
                                 const std::vector<int>& members);

// The number of windows, from the first on, that have equal sizes on all ranks.
std::size_t common_windows(std::span<const NcclIntroduction> all);

}  // namespace hvd::collective
