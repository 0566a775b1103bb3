// The ShmPlane moves tensors between the ranks of one node through memory they
// share.
//
//   segment = NodeSegment::open(communicator, topology,
//                               ShmPlane::bytes_needed(ranks), deadline);
//   ShmPlane plane(*segment, segment->payload(), waiting);
//
// Large tensors go by in chunks that stay in cache: each rank copies its chunk
// in, straight from the pieces; each reduces its own slice of the chunk from
// all ranks' copies; each copies the result out, straight into the pieces.
// While one chunk is reduced the next is filled and the last is emptied. Small
// tensors take one step: everyone copies in and reduces everything itself. Both
// add in rank order, so both give the same bits.
//
// Ranks in calls are local ranks of the segment. All ranks make their planes
// with equal options, over a region that starts as zeros and serves no other
// plane. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/reduce_kernels.h"
#include "horovodpp/collective/shm_board.h"
#include "horovodpp/transport/node_segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

struct ShmOptions {
  // Of one rank's part of a step; a multiple of 128. The region takes
  // 3 * (ranks + 1) of them.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  // Tensors up to this size (and to a chunk's) are reduced by everyone.
  std::size_t small_bytes = std::size_t{8} << 10;
};

class ShmPlane : public DataPlane {
 public:
  using Options = ShmOptions;

  static std::size_t bytes_needed(int ranks, const Options& options = {});

  // `region` is a part of the segment's payload, aligned to 128 bytes, of at
  // least bytes_needed() (if it is not, every call fails with
  // InvalidArgument). The segment outlives the plane.
  ShmPlane(transport::NodeSegment& segment, std::span<std::byte> region,
           const transport::WaitPolicy& waiting, const Options& options = {});

  std::string name() const override { return "shm"; }
  bool supports(const Device& device, std::size_t bytes) const override;

  //   Internal  a rank of the node is in another call; names both. This and
  //             the watch's error end the plane.
  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, Call call) override;
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, Call call) override;
  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, Call call) override;
  absl::Status barrier(Call call) override;

 private:
  int rank() const { return board_.rank(); }
  int ranks() const { return board_.ranks(); }

  // Runs `body`, unless the plane has failed before.
  template <typename Body>
  absl::Status run(Body body);

  // Takes the next `steps` steps: `fill(i, slot)` writes this rank's input of
  // the i-th, `drain(i, step)` uses everybody's. Both return a status or
  // nothing; fill runs one step ahead.
  template <typename Fill, typename Drain>
  absl::Status step_through(std::uint64_t steps, const ShmBoard::Label& label,
                            const Call& call, Fill fill, Drain drain);

  absl::Status allreduce_at_once(std::span<const Piece> pieces,
                                 std::int64_t count, const ReduceKernel& kernel,
                                 const Call& call);
  absl::Status allreduce_in_chunks(std::span<const Piece> pieces,
                                   std::int64_t count,
                                   const ReduceKernel& kernel,
                                   const Call& call);
  // Combines `count` elements from `first` of all inputs of `step`.
  void reduce(std::uint64_t step, std::size_t first_byte, void* output,
              std::int64_t count, const ReduceKernel& kernel);

  const Options options_;
  ShmBoard board_;
  std::uint64_t next_step_ = 0;
  std::vector<const void*> inputs_;  // Of reduce(), one for each rank.
  absl::Status failure_;
};

}  // namespace hvd::collective
