// SPDX-License-Identifier: Apache-2.0
// The IpcPlane reduces tensors on GPUs of one node where they are, without NCCL: ranks
// may share a GPU, or have GPUs that reach each other's memory.
//
// Each rank has a window on its GPU that the others have opened (CUDA IPC). A call goes
// through the windows in chunks: every rank packs its chunk into its own window; every
// rank reduces its slice of it from all windows, in rank order, and writes the result
// into all of them; every rank unpacks. While one chunk is reduced the next is packed
// into the window's other half. The GPUs wait for each other's events; the host tells,
// over the board, only that they have been recorded, so that no kernel ever spins.
//
// Whether that is possible the ranks find out when they are introduced, and remember.
// Before that, and where it is not (a GPU takes none of the kernels, two do not reach each
// other, the kernel has no such arithmetic), and for what does not reduce, calls go
// another way.
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
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/collective/shm/board.h"
#include "horovodpp/collective/shm/seat.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

class IpcPlane : public DataPlane {
 public:
  struct Options {
    // Of half a window, of which a process set that reduces on GPUs has one on each.
    std::size_t half_bytes = std::size_t{16} << 20;
  };
  struct Means {
    device::Gpus& gpus;
    ShmBoard& board;           // Of a node,
    std::vector<int> members;  // of whose ranks these are connected, ascending.
    DataPlane& otherwise;      // Connects the same ranks.
    IpcWindows& windows;       // Of this process.
    // Of what was chosen, for a log.
    std::function<void(const std::string& text)> tell = [](const std::string&) {
    };
  };
  // All that `means` refers to outlives this.
  explicit IpcPlane(Means means) : IpcPlane(std::move(means), Options()) {}
  IpcPlane(Means means, const Options& options);
  ~IpcPlane() override;

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
    return ranks() > 1 && !connected_.has_value();
  }
  absl::Status introduce(const Device& mine, Call call) override;

  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, Call call) override;
  absl::Status reducescatter(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const Reduction& reduction, Call call) override;
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, Call call) override;
  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, Call call) override;
  absl::Status alltoall(std::span<const std::byte> input,
                        std::span<const std::size_t> send_bytes,
                        std::byte* output,
                        std::span<const std::size_t> receive_bytes,
                        Call call) override;
  absl::Status barrier(Call call) override;

 private:
  class Reducing;

  int ranks() const { return static_cast<int>(members_.size()); }
  bool could_reduce(std::span<const Piece> pieces,
                    const Reduction& reduction) const;
  BoardSeat seat_in(const Call& call);
  absl::Status open_windows(const BoardSeat& seat, const Device& mine);
  void tell_of(const absl::Status& mine) const;
  absl::Status noted(const absl::Status& outcome);
  // A call by the windows of which each rank gets the elements that are `wanted`.
  absl::Status reduce(char kind, std::span<const Piece> pieces,
                      std::span<const Range> wanted, const Reduction& reduction,
                      const Call& call);

  device::Gpus& gpus_;
  ShmBoard& board_;
  const std::vector<int> members_;
  const int rank_;
  DataPlane& otherwise_;
  IpcWindows& windows_;
  const std::function<void(const std::string& text)> tell_;
  const Options options_;
  SlotWriter writer_;
  std::optional<bool> connected_;  // Not known before the introduction.
  std::unique_ptr<IpcWindow> window_;
  std::optional<Neighbourhood> all_;
  absl::Status failure_;
};

}  // namespace hvd::collective
