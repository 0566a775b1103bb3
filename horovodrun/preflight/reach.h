// SPDX-License-Identifier: Apache-2.0
// Reach finds the addresses by which this host reaches other hosts. Each host
// listens, and sends its id to every connection. An address reaches its host if
// the id is that host's: the address of a bridge that many hosts have leads
// back to the caller.
//
//   Reach reach;                       // Listens: tell port() and id().
//   reach.begin(targets);              // Once the others are known.
//   while (!reach.is_done()) poll(...), reach.advance();
//
// No call waits. A listener lives as long as its object. Not thread-safe.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"

namespace hvd::launcher {

struct ReachTarget {
  std::size_t host = 0;  // Its number, for the caller.
  std::uint32_t address = 0;
  int port = 0;
  std::string id{};
};

class Reach {
 public:
  // For an address that does not answer, and less once every host has answered
  // by another address.
  static constexpr std::chrono::milliseconds kTimeout{1000};
  static constexpr std::chrono::milliseconds kTimeoutOfRest{100};

  Reach();
  ~Reach();
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  // 0: this host cannot listen.
  int port() const { return port_; }
  const std::string& id() const { return id_; }

  // Connects to the targets.
  void begin(const std::vector<ReachTarget>& targets);
  void advance();
  bool is_done() const { return done_; }

  void add_awaited(std::vector<pollfd>* fds) const;
  Clock::TimePoint deadline() const { return deadline_; }

  // The targets that have answered, by their place in begin()'s list.
  const std::vector<std::size_t>& reached() const { return reached_; }

 private:
  struct Attempt {
    std::size_t target = 0;
    int fd = -1;
    std::string received{};
  };

  void accept_all() const;
  bool read(Attempt& attempt);
  bool has_reached_all_hosts() const;

  const std::string id_;
  int listener_ = -1;
  int port_ = 0;
  bool done_ = false;
  Clock::TimePoint begin_{};
  Clock::TimePoint deadline_ = Clock::TimePoint::max();
  std::vector<ReachTarget> targets_;
  std::vector<Attempt> attempts_;
  std::vector<std::size_t> reached_;
};

}  // namespace hvd::launcher
