// SPDX-License-Identifier: Apache-2.0
// A SharedMemory is a mapping of memory without a name (a memfd). Other
// processes of this machine can map it, too, by a ticket that locates its
// descriptor. The kernel frees it with its last mapping, however the processes
// end.
//
// All its pages exist and its size is sealed, so access cannot raise SIGBUS.
// Not thread-safe; synchronizing access to the memory is up to its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::transport {

class SharedMemory {
 public:
  // Location and identity of the memory. Device and file numbers tell it from
  // other memory that a later process put in the same place.
  struct Ticket {
    std::int64_t pid = 0;
    int descriptor = -1;
    std::uint64_t device = 0;
    std::uint64_t file = 0;
    std::size_t bytes = 0;

    std::string to_string() const;
    //   InvalidArgument  `text` was not written by to_string()
    static absl::StatusOr<Ticket> from_string(const std::string& text);
  };

  // kHuge: huge pages where the machine gives them on request, which may take
  // milliseconds. kAny: pages that come at once.
  enum class Pages { kHuge, kAny };

  // `bytes` zeros.
  //   ResourceExhausted  there is too little memory (says how much was asked)
  static absl::StatusOr<std::unique_ptr<SharedMemory>> create(
      std::size_t bytes, Pages pages = Pages::kHuge);

  // Maps the memory of `ticket` while its creator holds it open. With
  // `read_only`, a write raises SIGSEGV.
  //   FailedPrecondition  this process may not look at the creator's
  //                       descriptors, or the memory is gone
  static absl::StatusOr<std::unique_ptr<SharedMemory>> attach(
      const Ticket& ticket, bool read_only = false);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return ticket_.bytes; }
  const Ticket& ticket() const { return ticket_; }

  // Closes the descriptor: the ticket becomes invalid, the mapping stays.
  void close_descriptor();

 private:
  SharedMemory(const Ticket& ticket, std::byte* data)
      : ticket_(ticket), data_(data) {}

  Ticket ticket_;  // For this process; descriptor -1 once closed.
  std::byte* data_;
};

}  // namespace hvd::transport
