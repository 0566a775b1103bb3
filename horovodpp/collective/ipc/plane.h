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
  bool needs_introduction() const override {
    return position_.ranks > 1 && !connected_.has_value();
  }
  absl::Status introduce(const Device& mine, Call call) override;

 protected:
  // This rank among all members of the plane.
  struct Position {
    int rank = 0;
    int ranks = 1;
  };
  // As above; `means.members` are those on this rank's node.
  IpcPlane(Means&& means, const Options& options, const Position& position);

  const Position& position() const { return position_; }
  IpcWindow& window() { return *window_; }
  const PeerWindows& peer_windows() const { return *all_; }
  // This rank's seat on this node.
  BoardSeat seat_in(const Call& call);
  // How a reduction waits for the GPU.
  GpuWait wait_in(const Call& call) const {
    return {timeouts_, call, "a reduction by CUDA IPC",
            GpuWait::For::kOtherRanks};
  }

  // A call on the board: takes a window, calls `prepare`, and opens the windows
  // of all members on this node. Returns whether every member succeeded.
  using Prepare = std::function<absl::Status(IpcWindow& window)>;
  absl::StatusOr<bool> open_windows(const BoardSeat& seat,
                                    const transport::DataTag& tag,
                                    const Device& mine, const Prepare& prepare);
  // Why this rank failed in the last open_windows().
  const absl::Status& obstacle() const { return obstacle_; }
  void report(const std::string& text) const { report_(text); }
  // "ranks [2, 3] of this node", as the job numbers them.
  const std::string& on_this_node() const { return on_this_node_; }

  struct Task {
    char kind = 0;  // As in a label of the board.
    std::span<const Piece> pieces = {};
    // For each piece, the elements that its output receives.
    std::span<const Range> wanted = {};
    // A reducescatter's counts; empty for other operations.
    std::span<const std::int64_t> counts = {};
    const Reduction& reduction;

    std::uint64_t bytes() const;
  };

  virtual bool reduces(const Reduction& reduction) const;

 private:
  friend PlaneOf<IpcPlane>;
  // Calls that do not reduce use another plane.
  template <typename What>
  absl::Status serve(const What& what, const Call& call) {
    return failure_.ok() ? otherwise_.execute(what, call) : failure_;
  }
  absl::Status serve(const Allreduce& what, const Call& call);
  absl::Status serve(const Reducescatter& what, const Call& call);

  // Whether all members can use the windows; the same on all members.
  virtual absl::StatusOr<bool> connect(const Device& mine, const Call& call);
  virtual absl::Status reduce(const Task& task, const Call& call);

  bool could_reduce(std::span<const Piece> pieces,
                    const Reduction& reduction) const;
  absl::Status show_window(const BoardSeat& seat, const Device& mine,
                           const Prepare& prepare);
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
  const std::string on_this_node_;
  const std::vector<int> members_;  // On this node.
  const int rank_on_node_;          // This rank's place among them.
  const Position position_;
  const bool fits_;  // Whether kernels and board can serve this node.
  DataPlane& otherwise_;
  IpcRankWindows& windows_;
  const GpuTimeouts timeouts_;
  const std::function<void(const std::string& text)> report_;
  const Options options_;
  SlotWriter writer_;
  std::optional<bool> connected_;  // Unknown before the introduction.
  std::shared_ptr<IpcWindow> window_;
  std::optional<PeerWindows> all_;
  absl::Status obstacle_;
  absl::Status failure_;
};

}  // namespace hvd::collective
