// SPDX-License-Identifier: Apache-2.0
// A NodeSegment is memory that the ranks of one node share, with a doorbell for
// each rank and a failure record for all. It is a memfd passed by file
// descriptor, without a name, so nothing is left behind however the ranks end.
//
// Ranks that are threads of one process get the same mapping. So the same code,
// and every sanitizer, serves processes and threads.
//
// The segment lives as long as one rank holds it. Its payload starts as zeros.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/doorbell.h"
#include "horovodpp/transport/node/shared_memory.h"

namespace hvd::transport {

// A FailureRecord publishes the first failure on a node to all ranks that wait
// there.
//
// raise() publishes a text once per segment: the first one stands. raised() is
// one load, meant for waiting loops.
class alignas(128) FailureRecord {
 public:
  static constexpr std::size_t kTextBytes = 4096;
  static constexpr std::size_t kMaxSuspects = 256;

  // Publishes the broken epoch, the reason, and its suspects
  // (core/job/suspects.h). Returns false if another rank was first, or if too
  // many ranks try at this moment. Long texts and lists of suspects are cut.
  bool raise(std::uint32_t epoch, const std::string& why,
             const std::vector<int>& suspects = {},
             FailureKind kind = FailureKind::kOther);

  bool raised() const { return chosen_.load() != 0; }

  // The arguments of raise(); valid once raised() is true.
  std::uint32_t epoch() const;
  std::string why() const;
  std::vector<int> suspects() const;
  FailureKind kind() const;

 private:
  struct Draft {
    std::uint32_t epoch = 0;
    std::uint32_t length = 0;
    std::uint32_t suspect_count = 0;
    FailureKind kind = FailureKind::kOther;
    std::int32_t suspects[kMaxSuspects] = {};
    char text[kTextBytes] = {};
  };
  static constexpr std::uint32_t kDrafts = 8;

  // A rank writes a draft and then publishes it, so a writer that dies midway
  // does not block others.
  std::atomic<std::uint32_t> chosen_{0};  // The draft's index plus 1.
  std::atomic<std::uint32_t> begun_{0};
  Draft drafts_[kDrafts] = {};
};

class NodeSegment {
 public:
  // Most ranks per segment.
  static constexpr int kMaxRanks = 64;

  // Opens the segment of this rank's node: the node's leader creates it, the
  // others attach. Collective over ALL ranks of the communicator (it uses
  // exchange()), each node getting its own segment. `payload_bytes` is equal on
  // the ranks of a node; the leader's `pages` count.
  //   ResourceExhausted  there is too little memory (says how much was asked)
  //   FailedPrecondition the node's ranks cannot see each other's descriptors
  //   DeadlineExceeded   a rank did not arrive
  static absl::StatusOr<std::unique_ptr<NodeSegment>> open(
      Communicator& communicator, const Topology& topology,
      std::size_t payload_bytes, std::chrono::steady_clock::time_point deadline,
      SharedMemory::Pages pages = SharedMemory::Pages::kHuge);

  ~NodeSegment();
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }

  // `payload_bytes` of shared memory, aligned to a page.
  std::span<std::byte> payload() const;
  Doorbell& doorbell(int local_rank) const { return doorbells_[local_rank]; }
  FailureRecord& failure_record() const { return *failure_record_; }

  // Rings every rank of the node but this one.
  void ring_others() const;

 private:
  class Mapping;
  NodeSegment(std::shared_ptr<Mapping> mapping, int local_rank, int local_size);
  std::shared_ptr<Mapping> mapping_;
  FailureRecord* failure_record_;  // In the mapping, like doorbells_.
  Doorbell* doorbells_;
  int local_rank_;
  int local_size_;
};

}  // namespace hvd::transport
