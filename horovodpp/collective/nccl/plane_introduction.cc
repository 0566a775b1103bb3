// SPDX-License-Identifier: Apache-2.0
// How the members of an NcclPlane decide whether they use NCCL, and connect.
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/nccl/plane.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// Processes in containers may have equal numbers, and a forked one has its
// parent's memory.
std::uint64_t this_process() {
  static const std::uint64_t drawn = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32;
  }();
  return drawn + static_cast<std::uint64_t>(getpid());
}

}  // namespace

absl::StatusOr<NcclIntroduction> NcclPlane::introduce_myself(
    const Device& mine) {
  NcclSession& session = means_.session;
  HVD_ASSIGN_OR_RETURN(const NcclApi* const nccl, session.library().api());
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, session.gpus().driver());
  NcclIntroduction me;
  me.is_able = 1;
  me.may_share = session.options().may_share_gpus ? 1 : 0;
  me.version = session.library().version();
  me.process = this_process();
  if (auto packing = NcclPacking::make(session.gpus(), mine.index);
      packing.ok()) {
    packing_ = *std::move(packing);
    me.packs = 1;
  }
  // Without kernels it could not handle tensors that lie at other places on
  // other ranks.
  if (me.packs != 0 && nccl->has_windows()) {
    blocks_ = session.arena()->blocks_on(mine.index);
    if (blocks_.size() > NcclArena::kMaxWindows) {
      blocks_.resize(NcclArena::kMaxWindows);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      me.windows[i] = blocks_[i].bytes;
    }
  }
  HVD_ASSIGN_OR_RETURN(me.gpu, cuda->uuid_of(mine.index));
  if (means_.rank == 0) {
    // An unused id stays valid.
    if (!id_) {
      NcclUniqueId id = {};
      HVD_RETURN_IF_ERROR(
          status_of(*nccl, nccl->ncclGetUniqueId(&id), "ncclGetUniqueId"));
      id_ = id;
    }
    me.id = *id_;
  }
  return me;
}

absl::Status NcclPlane::introduce(const Device& mine, Call call) {
  if (is_introduced_) return means_.otherwise.introduce(mine, call);
  absl::StatusOr<NcclIntroduction> me = introduce_myself(mine);
  if (!me.ok()) me = NcclIntroduction::refusal(me.status());
  std::vector<NcclIntroduction> all(means_.members.size());
  const std::vector<std::size_t> sizes(all.size(), sizeof(NcclIntroduction));
  HVD_RETURN_IF_ERROR(
      means_.host.allgather(std::as_bytes(std::span(&*me, 1)), sizes,
                            reinterpret_cast<std::byte*>(all.data()), call));
  is_introduced_ = true;
  std::vector<NcclArena::Block> blocks = std::exchange(blocks_, {});
  blocks.resize(std::min(blocks.size(), common_windows(all)));
  const absl::Status possible = check_introductions(all, means_.members);
  if (!possible.ok()) {
    packing_ = nullptr;
    means_.session.options().report(
        absl::StrCat("tensors on GPUs do not go by NCCL between ranks ",
                     line_.members(), ": ", possible.message()));
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(
      noted(line_.open(all.front().id, mine.index, call.interrupt)));
  const bool all_pack = std::all_of(
      all.begin(), all.end(), [](const auto& one) { return one.packs != 0; });
  if (!all_pack) packing_ = nullptr;
  if (!blocks.empty()) {
    HVD_RETURN_IF_ERROR(noted(line_.register_windows(blocks, call.interrupt)));
  }
  means_.session.options().report(absl::StrCat(
      "tensors on GPUs go by NCCL ", nccl_version_text(me->version),
      " between ranks ", line_.members(),
      ", of this rank on cuda:", line_.gpu(),
      blocks.empty()
          ? ""
          : absl::StrCat(", with ", blocks.size(), " windows registered")));
  return absl::OkStatus();
}

}  // namespace hvd::collective
