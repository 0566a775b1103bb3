// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/staged_plane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/plane_selector.h"
#include "horovodpp/collective/staged_allreduce.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::collective {
namespace {

// Tensors begin at cache lines of their own.
constexpr std::size_t kAlignment = 64;

template <typename What>
ReduceOp op_of(const What&) {
  return ReduceOp::kSum;
}
ReduceOp op_of(const Reducescatter& what) { return what.reduction.op; }

}  // namespace

// The memory that one call copies from the GPU and back.
class StagedPlane::Trip {
 public:
  // Without `from` nothing is fetched, without `to` nothing is copied back.
  Memory carry(const std::byte* from, std::byte* to, std::size_t bytes) {
    loads_.push_back({from, to, bytes, bytes_});
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return {from, to};
  }

  // The memory on the host of the carry() of this index.
  Memory on_host(std::size_t index) const {
    const Load& load = loads_[index];
    if (staging_ == nullptr) return {load.from, load.to};
    return {staging_ + load.offset, staging_ + load.offset};
  }

  // Asks `lane_of(memory)` for the lane of each nonempty load. Returns the
  // first lane; nullptr if there is none.
  template <typename LaneOf>
  absl::StatusOr<Lane*> find(LaneOf lane_of) {
    Lane* first = nullptr;
    for (Load& load : loads_) {
      if (load.bytes == 0) continue;
      HVD_ASSIGN_OR_RETURN(Lane* const lane,
                           lane_of(load.from != nullptr ? load.from : load.to));
      load.is_on_host = lane == nullptr;
      if (first == nullptr) first = lane;
    }
    return first;
  }

  absl::Status fetch(Lane& lane, const Call& call, GpuWait& wait) {
    HVD_ASSIGN_OR_RETURN(staging_, lane.whole.at_least(bytes_));
    for (const device::CudaEvent* event : call.after) {
      HVD_RETURN_IF_ERROR(lane.down.wait_for(*event, wait));
    }
    for (const Load& load : loads_) {
      if (load.from == nullptr || load.bytes == 0) continue;
      std::byte* const to = staging_ + load.offset;
      if (load.is_on_host) {
        std::memcpy(to, load.from, load.bytes);
      } else {
        HVD_RETURN_IF_ERROR(lane.down.copy(to, load.from, load.bytes, wait));
      }
    }
    return wait.until_end_of(lane.down.stream());
  }

  absl::Status bring_back(Lane& lane, GpuWait& wait) const {
    for (const Load& load : loads_) {
      if (load.to == nullptr || load.bytes == 0) continue;
      const std::byte* const from = staging_ + load.offset;
      if (load.is_on_host) {
        std::memcpy(load.to, from, load.bytes);
      } else {
        HVD_RETURN_IF_ERROR(lane.up.copy(load.to, from, load.bytes, wait));
      }
    }
    return wait.until_end_of(lane.up.stream());
  }

 private:
  struct Load {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
    std::size_t offset;
    bool is_on_host = true;
  };

  std::vector<Load> loads_;
  std::size_t bytes_ = 0;
  std::byte* staging_ = nullptr;
};

// Leaves memory that a GPU may still use allocated until the process ends.
StagedPlane::~StagedPlane() {
  static Mutex mutex;
  static auto* const left = new std::vector<std::unique_ptr<Lane>>;
  for (auto& [gpu, lane] : lanes_) {
    if (lane == nullptr || has_ended_) continue;
    const MutexLock lock(mutex);
    left->push_back(std::move(lane));
  }
}

absl::Status StagedPlane::noted(const absl::Status& outcome) {
  if (outcome.ok() || absl::IsCancelled(outcome)) return outcome;
  failure_ = outcome;
  std::vector<const device::CudaStream*> streams;
  for (const auto& [gpu, lane] : lanes_) {
    if (lane == nullptr) continue;
    streams.push_back(&lane->down.stream());
    streams.push_back(&lane->up.stream());
  }
  has_ended_ = GpuWait::drain_after_failure(streams);
  return outcome;
}

DataPlane* StagedPlane::plane_for(ReduceOp op) const {
  // Planes for CPU memory take calls of any size.
  return first_for(planes_, Device::cpu(), 0, op);
}

absl::StatusOr<StagedPlane::Lane*> StagedPlane::lane_of(const void* memory,
                                                        const Call& call) {
  if (memory == nullptr) return nullptr;
  const absl::StatusOr<device::CudaDriver*> cuda = gpus_.driver();
  if (!cuda.ok()) return nullptr;
  const absl::StatusOr<int> index =
      call.gpu ? *call.gpu : (*cuda)->device_of(memory);
  if (!index.ok()) return nullptr;
  std::unique_ptr<Lane>& lane = lanes_[*index];
  if (lane == nullptr) {
    HVD_ASSIGN_OR_RETURN(const device::CudaContext context,
                         (*cuda)->context(*index));
    HVD_ASSIGN_OR_RETURN(lane, Lane::make(context, memory_));
  }
  return lane.get();
}

absl::Status StagedPlane::meet(DataPlane& plane, Call& call) {
  if (!call.certain) HVD_RETURN_IF_ERROR(plane.barrier(call));
  call.certain = true;
  ++call.tag.sequence;
  return absl::OkStatus();
}

template <typename What>
absl::Status StagedPlane::on_host(DataPlane& plane, const What& what,
                                  const Call& call) {
  Trip trip;
  with_memory(
      what, rank_, [&](auto... memory) { return trip.carry(memory...); },
      [](const What&) {});
  HVD_ASSIGN_OR_RETURN(Lane* const lane, trip.find([&](const void* memory) {
    return lane_of(memory, call);
  }));
  if (lane == nullptr) return plane.execute(what, call);
  GpuWait wait = wait_in(call);
  HVD_RETURN_IF_ERROR(noted_of([&] { return trip.fetch(*lane, call, wait); }));
  std::size_t next = 0;
  HVD_RETURN_IF_ERROR(with_memory(
      what, rank_, [&](auto...) { return trip.on_host(next++); },
      [&](const What& there) { return plane.execute(there, call); }));
  return noted_of([&] { return trip.bring_back(*lane, wait); });
}

absl::StatusOr<DataPlane*> StagedPlane::plane_or_error(ReduceOp op) const {
  HVD_RETURN_IF_ERROR(failure_);
  DataPlane* const plane = plane_for(op);
  if (plane != nullptr) return plane;
  return absl::UnimplementedError(
      absl::StrCat("no plane for CPU memory has ", name_of(op),
                   ", by which tensors of GPUs could be reduced"));
}

std::size_t StagedPlane::chunk_of(std::size_t bytes) const {
  return std::max(chunk_bytes_, (bytes + kMaxChunks - 1) / kMaxChunks);
}

std::uint32_t StagedPlane::tags_of(std::size_t bytes) const {
  // A chunk has whole elements, of at most 8 bytes.
  const std::size_t least = chunk_of(bytes) / 8 * 8;
  const auto chunks =
      static_cast<std::uint32_t>(bytes / std::max<std::size_t>(least, 8)) + 1;
  return 1 + chunks;  // One for meet().
}

absl::Status StagedPlane::serve(const Allreduce& what, const Call& made) {
  const auto pieces = what.pieces;
  const Reduction& reduction = what.reduction;
  HVD_RETURN_IF_ERROR(check(what, rank_, ranks_));
  HVD_ASSIGN_OR_RETURN(DataPlane* const plane, plane_or_error(reduction.op));
  Call call = made;
  HVD_RETURN_IF_ERROR(meet(*plane, call));
  if (describe(reduction.op).whole_tensors) return on_host(*plane, what, call);
  // If this rank has joined, some or all pieces may lie on the host.
  Lane* lane = nullptr;
  std::size_t bytes = 0;
  std::vector<bool> on_host;
  for (const Piece& piece : pieces) {
    bytes += bytes_of(piece, reduction.dtype);
    HVD_ASSIGN_OR_RETURN(
        Lane* const of_piece,
        lane_of(piece.count > 0 ? piece.input : nullptr, call));
    on_host.push_back(of_piece == nullptr);
    if (lane == nullptr) lane = of_piece;
  }
  const auto elements =
      static_cast<std::int64_t>(chunk_of(bytes) / size_of(reduction.dtype));
  GpuWait wait = wait_in(call);
  return noted_of([&] {
    return StagedAllreduce({lane, on_host, *plane, wait}, pieces, reduction,
                           {.elements = elements})
        .run(call);
  });
}

template <typename What>
absl::Status StagedPlane::serve(const What& what, const Call& made) {
  HVD_RETURN_IF_ERROR(check(what, rank_, ranks_));
  HVD_ASSIGN_OR_RETURN(DataPlane* const plane, plane_or_error(op_of(what)));
  Call call = made;
  HVD_RETURN_IF_ERROR(meet(*plane, call));
  return on_host(*plane, what, call);
}

template absl::Status StagedPlane::serve(const Reducescatter&, const Call&);
template absl::Status StagedPlane::serve(const Allgather&, const Call&);
template absl::Status StagedPlane::serve(const Broadcast&, const Call&);
template absl::Status StagedPlane::serve(const Alltoall&, const Call&);

absl::Status StagedPlane::serve(const Barrier& what, const Call& call) {
  HVD_ASSIGN_OR_RETURN(DataPlane* const plane, plane_or_error());
  return plane->execute(what, call);
}

}  // namespace hvd::collective
