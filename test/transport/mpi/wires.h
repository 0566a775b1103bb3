// SPDX-License-Identifier: Apache-2.0
// Ranks that make their own mailboxes and transfers, with a limit per message
// that tests can reach.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "horovodpp/transport/mpi/communicator.h"
#include "horovodpp/transport/mpi/mailbox.h"
#include "horovodpp/transport/mpi/transfers.h"
#include "horovodpp/transport/mpi/world.h"

namespace hvd::transport {

inline constexpr std::size_t kLimit = 1000;
inline constexpr int kTag = 40;  // Not the tag of mail, exchange or data.

class MpiWires : public ::testing::Test {
 protected:
  void SetUp() override {
    auto communicator = join_mpi_world({});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    communicator_ = *std::move(communicator);
  }
  void TearDown() override { barrier(); }

  void barrier() {
    const auto all = communicator_->exchange(
        "", std::chrono::steady_clock::now() + std::chrono::seconds(60));
    ASSERT_TRUE(all.ok()) << all.status();
  }

  MpiMailbox mailbox(std::uint32_t generation) {
    return MpiMailbox({.comm = world_.comm(),
                       .rank = world_.rank(),
                       .tag = kTag,
                       .generation = generation,
                       .fragment_bytes = kLimit});
  }
  MpiTransfers transfers() {
    return MpiTransfers({.comm = world_.comm(),
                         .rank = world_.rank(),
                         .tags = world_.tags(),
                         .generation = world_.generation(),
                         .chunk_bytes = kLimit});
  }
  // Abandoned transfers may still be arriving.
  static void keep_leftovers_of(MpiTransfers& transfers) {
    static auto* kept = new MpiMessages;
    transfers.give_up(*kept);
  }
  static absl::Status finish(MpiTransfers& transfers, TransferId id) {
    while (true) {
      const auto done = transfers.test(id);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
      std::this_thread::yield();
    }
  }
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::span<std::byte> bytes_of(std::string& text) {
    return std::as_writable_bytes(std::span(text.data(), text.size()));
  }

  int next() const { return (world_.rank() + 1) % world_.size(); }
  int previous() const {
    return (world_.rank() + world_.size() - 1) % world_.size();
  }

  MpiWorld& world_ = MpiWorld::instance();
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace hvd::transport
