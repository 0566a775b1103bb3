// SPDX-License-Identifier: Apache-2.0
// The conformance suite of Communicator, whose tests are in
// communicator_suite.cc. A test program instantiates it with its kinds of jobs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

// A way to run a function once per rank. An MPI job runs it for this process.
struct JobKind {
  std::string name;
  std::function<void(const std::function<void(Communicator&)>&)> run;

  friend void PrintTo(const JobKind& kind, std::ostream* out) {
    *out << kind.name;
  }
};

class CommunicatorSuite : public ::testing::TestWithParam<JobKind> {
 protected:
  // Runs `body` on every rank. Ranks leave together, so that none is gone while
  // another still needs its progress.
  void on_every_rank(const std::function<void(Communicator&)>& body) {
    GetParam().run([&](Communicator& communicator) {
      body(communicator);
      flush(communicator);
      barrier(communicator);
    });
  }

  // A generous deadline: a failure becomes a message, not a hang.
  static std::chrono::steady_clock::time_point soon() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(60);
  }

  static Mail next_mail(Communicator& communicator) {
    for (const auto limit = soon(); std::chrono::steady_clock::now() < limit;) {
      auto mail = communicator.receive_mail();
      if (!mail.ok()) {
        ADD_FAILURE() << mail.status();
        return {.from = -1, .bytes = ""};
      }
      if (mail->has_value()) return **mail;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "rank " << communicator.rank() << " got no mail";
    return {.from = -1, .bytes = ""};
  }

  static absl::Status finish(Communicator& communicator, TransferId id) {
    for (const auto limit = soon(); std::chrono::steady_clock::now() < limit;) {
      const auto done = communicator.test(id);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
      std::this_thread::yield();
    }
    return absl::DeadlineExceededError("the transfer does not complete");
  }

  static void flush(Communicator& communicator) {
    for (const auto limit = soon(); std::chrono::steady_clock::now() < limit;) {
      const auto flushed = communicator.mail_is_flushed();
      ASSERT_TRUE(flushed.ok()) << flushed.status();
      if (*flushed) return;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "mail is not flushed";
  }

  // A barrier by transfers through rank 0, in its own epoch.
  static void barrier(Communicator& communicator) {
    constexpr DataTag kTag = {.epoch = 0xffffffffu, .sequence = 0};
    const std::string mine = "x";
    const auto signal = [&](int to) {
      EXPECT_TRUE(
          finish(communicator, send(communicator, to, kTag, mine)).ok());
    };
    const auto await = [&](int from) {
      std::string theirs = "?";
      EXPECT_TRUE(
          finish(communicator, receive(communicator, from, kTag, theirs)).ok());
    };
    if (communicator.rank() != 0) {
      signal(0);
      await(0);
      return;
    }
    for (int peer = 1; peer < communicator.size(); ++peer) await(peer);
    for (int peer = 1; peer < communicator.size(); ++peer) signal(peer);
  }

  // `bytes` bytes that differ by sender, receiver and position.
  static std::string pattern(int from, int to, std::size_t bytes) {
    // A prime, so that no two chunks of a usual size look alike.
    constexpr std::size_t kPeriod = 251;
    std::string text;
    for (std::size_t i = 0; i < std::min(bytes, kPeriod); ++i) {
      text.push_back(static_cast<char>(i * 31 +
                                       static_cast<std::size_t>(from) * 7 +
                                       static_cast<std::size_t>(to) * 13));
    }
    while (text.size() < bytes) {
      text.append(text, 0, std::min(bytes - text.size(), text.size()));
    }
    return text;
  }

  static int next_rank(const Communicator& c) {
    return (c.rank() + 1) % c.size();
  }
  static int previous_rank(const Communicator& c) {
    return (c.rank() + c.size() - 1) % c.size();
  }

  static TransferId send(Communicator& communicator, int to, DataTag tag,
                         const std::string& text) {
    const auto id = communicator.post_send(
        to, tag, std::as_bytes(std::span(text.data(), text.size())));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
  static TransferId receive(Communicator& communicator, int from, DataTag tag,
                            std::string& text) {
    const auto id = communicator.post_receive(
        from, tag, std::as_writable_bytes(std::span(text.data(), text.size())));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
};

}  // namespace hvd::transport
