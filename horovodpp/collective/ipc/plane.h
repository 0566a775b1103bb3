// SPDX-License-Identifier: Apache-2.0
// The IpcPlane reduces tensors on GPUs of one node in place, without NCCL.
// Ranks may share a GPU, or have GPUs that reach each other's memory.
//
// Each rank has a window on its GPU that the other ranks have opened (CUDA
// IPC). A call moves through the windows in chunks:
//
// - Every rank packs its chunk into its own window.
// - Every rank reduces its slice of the chunk from all windows, in rank order,
//   and writes the result into all of them.
// - Every rank unpacks.
//
// While one chunk is reduced the next is packed into the window's other half.
// Hosts announce recorded events over the board. GPUs wait for events of
// threads. Hosts wait for events of other processes, which may die. No kernel
// spins.
//
// The ranks find out at their introduction whether this is possible, and
// remember it. Calls use another plane before that, if it is impossible, and if
// they do not reduce. It is impossible if a GPU cannot load the kernels, if two
// GPUs do not reach each other, or if the kernels lack the arithmetic.
//
// Results have the bits of shared memory's planes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/guarded.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

class IpcPlane : public PlaneOf<IpcPlane> {
 public:
  struct Options {
    // The size of half a window.
    std::size_t half_bytes = std::size_t{16} << 20;
  };
  struct Means {
    device::Gpus& gpus;
    ShmBoard& board;           // The node's.
    std::vector<int> members;  // Connected ranks of the node, ascending.
    DataPlane& otherwise;      // Connects the same ranks.
    IpcRankWindows& windows;   // This rank's.
    // The same members as the job numbers them, for messages.
    std::vector<int> ranks_of_job;
    GpuTimeouts timeouts = {};
    // Receives the choice of the introduction, for a log.
    std::function<void(const std::string& text)> report =
        [](const std::string&) {};
  };
  // The objects in `means` outlive this one.
  explicit IpcPlane(Means means) : IpcPlane(std::move(means), Options()) {}
  IpcPlane(Means means, const Options& options);
  ~IpcPlane() override;
  IpcPlane(const IpcPlane&) = delete;
  IpcPlane& operator=(const IpcPlane&) = delete;

  std::string name() const override { return "ipc"; }
  bool supports(const Device& device, std::size_t bytes) const override {
    return otherwise_.supports(device, bytes);
  }
  bool reduces_by(ReduceOp op) const override {
    return otherwise_.reduces_by(op);
  }
  std::uint32_t tags_of(std::size_t bytes) const override {
    return otherwise_.tags_of(bytes);
  }
  bool needs_introduction() const override { return !connected_.has_value(); }
  absl::Status introduce(const Device& mine, Call call) override;

 private:
  friend PlaneOf<IpcPlane>;
  // Calls that do not reduce use another plane.
  template <typename What>
  absl::Status serve(const What& what, const Call& call) {
    return failure_.ok() ? otherwise_.execute(what, call) : failure_;
  }
  absl::Status serve(const Allreduce& what, const Call& call);
  absl::Status serve(const Reducescatter& what, const Call& call);

  struct Task {
    char kind = 0;  // As in a label of the board.
    std::span<const Piece> pieces = {};
    // For each piece, the elements that its output receives.
    std::span<const Range> wanted = {};
    const Reduction& reduction;
  };
  absl::Status reduce(const Task& task, const Call& call);
  bool could_reduce(std::span<const Piece> pieces,
                    const Reduction& reduction) const;

  int ranks() const { return static_cast<int>(members_.size()); }
  BoardSeat seat_in(const Call& call);
  // Takes a window, and opens the windows of all members. Returns whether every
  // member succeeded.
  absl::StatusOr<bool> connect(const Device& mine, const Call& call);
  absl::Status show_window(const BoardSeat& seat, const Device& mine);
  absl::StatusOr<bool> do_all_ranks_reach(const BoardSeat& seat);
  void release_window();
  absl::Status noted(const absl::Status& outcome);
  // Records the outcome of `f`, or that it has thrown.
  template <typename F>
  absl::Status noted_of(F f) {
    return guarded(
        f, [this](const absl::Status& outcome) { return noted(outcome); });
  }

  device::Gpus& gpus_;
  ShmBoard& board_;
  const std::string ranks_text_;  // "ranks [2, 3]", as the job numbers them.
  const std::vector<int> members_;
  const int rank_;   // This rank's place among them.
  const bool fits_;  // Whether kernels and board can serve so many.
  DataPlane& otherwise_;
  IpcRankWindows& windows_;
  const GpuTimeouts timeouts_;
  const std::function<void(const std::string& text)> report_;
  const Options options_;
  SlotWriter writer_;
  std::optional<bool> connected_;  // Unknown before the introduction.
  std::shared_ptr<IpcWindow> window_;
  std::optional<PeerWindows> all_;
  absl::Status obstacle_;  // Why this rank could not connect.
  absl::Status failure_;
};

}  // namespace hvd::collective
