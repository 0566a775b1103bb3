#include "horovodpp/collective/ring_plane.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/chunk_link.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// A slot holds one accumulator of any type.
constexpr std::size_t kLeastChunk = 64;

}  // namespace

RingPlane::RingPlane(transport::Communicator& communicator,
                     std::vector<int> members,
                     const transport::WaitPolicy& waiting,
                     const RingOptions& options)
    : communicator_(communicator),
      members_(std::move(members)),
      waiting_(waiting),
      staging_(2 * std::max(1, options.depth),
               std::max(kLeastChunk, options.chunk_bytes)) {
  const auto self =
      std::find(members_.begin(), members_.end(), communicator.rank());
  if (self == members_.end()) {
    failure_ = absl::InvalidArgumentError(
        absl::StrCat("rank ", communicator.rank(),
                     " is not among the members of this ring"));
  }
  ring_ = {.rank = static_cast<int>(self - members_.begin()),
           .ranks = static_cast<int>(members_.size()),
           .depth = staging_.slots() / 2,
           .slot_bytes = staging_.slot_bytes()};
}

RingPlane::RingPlane(transport::Communicator& communicator,
                     const transport::WaitPolicy& waiting,
                     const RingOptions& options)
    : RingPlane(communicator, all_ranks(communicator.size()), waiting,
                options) {}

bool RingPlane::supports(const Device& device, std::size_t) const {
  return device.is_cpu();
}

int RingPlane::member(int distance) const {
  const int position = (ring_.rank + distance) % size();
  return members_[static_cast<std::size_t>(position)];
}

template <typename Body>
absl::Status RingPlane::run(const Call& call, Body body) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(staging_.map());
  ChunkLink link(communicator_, staging_, call, waiting_);
  failure_ = body(link);
  if (failure_.ok()) failure_ = link.flush();
  return failure_;
}

absl::Status RingPlane::allreduce(std::span<const Piece> pieces,
                                  const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check(reduction));
  const ReduceKernel kernel(reduction, size());
  if (size() == 1) {
    for (const Piece& piece : pieces) {
      kernel.reduce({&piece.input, 1}, piece.output, piece.count);
    }
    return absl::OkStatus();
  }
  return run(call, [&](ChunkLink& link) {
    AllreduceFlow flow(ring_, pieces, kernel);
    return circulate(flow, link);
  });
}

absl::Status RingPlane::allgather(std::span<const std::byte> mine,
                                  std::span<const std::size_t> bytes_of_rank,
                                  std::byte* output, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(
      check_allgather(mine.size(), bytes_of_rank, ring_.rank, size()));
  const std::size_t place =
      std::accumulate(bytes_of_rank.begin(), bytes_of_rank.begin() + ring_.rank,
                      std::size_t{0});
  if (!mine.empty() && output + place != mine.data()) {
    std::memcpy(output + place, mine.data(), mine.size());
  }
  if (size() == 1) return absl::OkStatus();
  return run(call, [&](ChunkLink& link) {
    AllgatherFlow flow(ring_, mine, bytes_of_rank, output);
    return circulate(flow, link);
  });
}

// Receives are posted `depth` chunks ahead, and a rank sends no more than
// `depth` chunks of its own before it sends on what it received. So what has to
// be received before a chunk can be sent on always finds a slot: take the
// earliest chunk, over all ranks, that cannot be sent; all that it waits for
// comes before it.
absl::Status RingPlane::circulate(RingFlow& flow, ChunkLink& link) {
  const std::int64_t per_round = std::int64_t{flow.steps()} * ring_.depth;
  const std::int64_t total = flow.rounds() * per_round;
  const auto incoming = [&](std::int64_t number) {
    const int place = static_cast<int>(number % per_round);
    const int step = place / ring_.depth;
    const int behind = (step + 1) % size();
    return RingChunk{.round = number / per_round,
                     .step = step,
                     .segment = (ring_.rank + size() - behind) % size(),
                     .chunk = place % ring_.depth};
  };
  std::int64_t posted = 0;
  for (std::int64_t number = 0; number < total; ++number) {
    for (; posted < std::min(total, number + ring_.depth); ++posted) {
      const std::size_t bytes = flow.bytes(incoming(posted));
      if (bytes == 0) continue;
      HVD_RETURN_IF_ERROR(link.post_receive(member(size() - 1), bytes));
    }
    if (number % per_round == 0) {
      HVD_RETURN_IF_ERROR(send_own(flow, number / per_round, link));
    }
    HVD_RETURN_IF_ERROR(pass_on(flow, incoming(number), link));
  }
  return absl::OkStatus();
}

absl::Status RingPlane::send_own(RingFlow& flow, std::int64_t round,
                                 ChunkLink& link) {
  for (int i = 0; i < ring_.depth; ++i) {
    const RingChunk chunk = {
        .round = round, .step = 0, .segment = ring_.rank, .chunk = i};
    const std::size_t bytes = flow.bytes(chunk);
    if (bytes == 0) continue;
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
    flow.load(chunk, slot);
    HVD_RETURN_IF_ERROR(link.send(member(1), slot, bytes));
  }
  return absl::OkStatus();
}

absl::Status RingPlane::pass_on(RingFlow& flow, RingChunk chunk,
                                ChunkLink& link) {
  if (flow.bytes(chunk) == 0) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
  flow.receive(chunk, slot);
  if (++chunk.step < flow.steps()) {
    return link.send(member(1), slot, flow.bytes(chunk));
  }
  link.release(slot);
  return absl::OkStatus();
}

absl::Status RingPlane::broadcast(const std::byte* input, std::byte* output,
                                  std::size_t bytes, int root, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check_broadcast(root, size()));
  if (bytes == 0) return absl::OkStatus();
  if (ring_.rank == root && input != output) std::memcpy(output, input, bytes);
  if (size() == 1) return absl::OkStatus();
  return run(call, [&](ChunkLink& link) {
    return bytes <= ring_.slot_bytes
               ? broadcast_by_tree(input, output, bytes, root, link)
               : broadcast_by_chain(input, output, bytes, root, link);
  });
}

// Counted from the root, a rank's parent is the rank without its lowest bit,
// and its children are the ranks with one lower bit more.
absl::Status RingPlane::broadcast_by_tree(const std::byte* input,
                                          std::byte* output, std::size_t bytes,
                                          int root, ChunkLink& link) {
  const int place = (ring_.rank + size() - root) % size();
  int bit = 1;
  while (bit < size() && (place & bit) == 0) bit *= 2;
  if (place != 0) {
    HVD_RETURN_IF_ERROR(link.post_receive(member(size() - bit), bytes));
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
    std::memcpy(output, slot, bytes);
    link.release(slot);
  }
  const std::byte* data = place == 0 ? input : output;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit >= size()) continue;
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
    std::memcpy(slot, data, bytes);
    HVD_RETURN_IF_ERROR(link.send(member(bit), slot, bytes));
  }
  return absl::OkStatus();
}

absl::Status RingPlane::broadcast_by_chain(const std::byte* input,
                                           std::byte* output, std::size_t bytes,
                                           int root, ChunkLink& link) {
  const int place = (ring_.rank + size() - root) % size();
  const std::size_t window =
      static_cast<std::size_t>(ring_.depth) * ring_.slot_bytes;
  std::size_t posted = 0;
  for (std::size_t at = 0; at < bytes; at += ring_.slot_bytes) {
    for (; place != 0 && posted < std::min(bytes, at + window);
         posted += ring_.slot_bytes) {
      const std::size_t length = std::min(ring_.slot_bytes, bytes - posted);
      HVD_RETURN_IF_ERROR(link.post_receive(member(size() - 1), length));
    }
    const std::size_t length = std::min(ring_.slot_bytes, bytes - at);
    HVD_ASSIGN_OR_RETURN(std::byte * slot,
                         place == 0 ? link.take() : link.receive());
    if (place == 0) {
      std::memcpy(slot, input + at, length);
    } else {
      std::memcpy(output + at, slot, length);
    }
    if (place + 1 < size()) {
      HVD_RETURN_IF_ERROR(link.send(member(1), slot, length));
    } else {
      link.release(slot);
    }
  }
  return absl::OkStatus();
}

absl::Status RingPlane::barrier(Call call) {
  return run(call, [&](ChunkLink& link) -> absl::Status {
    for (int distance = 1; distance < size(); distance *= 2) {
      HVD_RETURN_IF_ERROR(link.post_receive(member(size() - distance), 1));
      HVD_ASSIGN_OR_RETURN(std::byte * token, link.take());
      *token = std::byte{1};
      HVD_RETURN_IF_ERROR(link.send(member(distance), token, 1));
      HVD_ASSIGN_OR_RETURN(std::byte * answer, link.receive());
      link.release(answer);
    }
    return absl::OkStatus();
  });
}

}  // namespace hvd::collective
