// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "test/support/file_size_limit.h"
#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

TEST(SharedMemory, AnotherProcessAttachesByTheTicket) {
  // Forked first, so that the child does not inherit the memory.
  int wires[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, wires), 0);
  ChildProcess child([&] {
    char text[256] = {};
    if (::recv(wires[1], text, sizeof(text) - 1, 0) <= 0) return 1;
    const auto ticket = SharedMemory::Ticket::from_string(text);
    if (!ticket.ok()) return 2;
    const auto memory = SharedMemory::attach(*ticket);
    if (!memory.ok()) return 3;
    if ((*memory)->bytes() != 8192) return 4;
    if ((*memory)->data()[8191] != std::byte{17}) return 5;
    (*memory)->data()[0] = std::byte{18};
    return 0;
  });
  const auto memory = SharedMemory::create(8192);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ((*memory)->data()[0], std::byte{0});
  (*memory)->data()[8191] = std::byte{17};
  const std::string text = (*memory)->ticket().to_string();
  ASSERT_GT(::send(wires[0], text.data(), text.size(), 0), 0);
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_EQ((*memory)->data()[0], std::byte{18});
  ::close(wires[0]);
  ::close(wires[1]);
}

// Large enough that several threads populate the pages.
TEST(SharedMemory, HasAllItsPagesFromTheBeginning) {
  constexpr std::size_t kBytes = (std::size_t{70} << 20) + 4096;
  const auto memory = SharedMemory::create(kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> is_there((kBytes + page - 1) / page);
  ASSERT_EQ(::mincore((*memory)->data(), kBytes, is_there.data()), 0);
  EXPECT_TRUE(std::all_of(is_there.begin(), is_there.end(),
                          [](unsigned char it) { return (it & 1) != 0; }));
  const std::byte* const data = (*memory)->data();
  EXPECT_TRUE(std::all_of(data, data + kBytes,
                          [](std::byte it) { return it == std::byte{0}; }));
}

TEST(SharedMemory, MayHaveHugePages) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  // A huge page, and a tail that is not a whole page.
  const auto memory = SharedMemory::create(kHugePage + 5000);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto other = SharedMemory::attach((*memory)->ticket());
  ASSERT_TRUE(other.ok()) << other.status();
  for (const auto* one : {memory->get(), other->get()}) {
    const auto address = reinterpret_cast<std::uintptr_t>(one->data());
    EXPECT_EQ(address % kHugePage, 0u);
  }
  for (const std::size_t at :
       {std::size_t{0}, kHugePage - 1, kHugePage, kHugePage + 4999}) {
    (*other)->data()[at] = std::byte{21};
    EXPECT_EQ((*memory)->data()[at], std::byte{21}) << at;
  }
}

TEST(SharedMemory, AVoidTicketIsAClearError) {
  const auto memory = SharedMemory::create(4096);
  ASSERT_TRUE(memory.ok());
  const SharedMemory::Ticket ticket = (*memory)->ticket();
  EXPECT_TRUE(SharedMemory::attach(ticket).ok());

  SharedMemory::Ticket other = ticket;
  other.file += 1;  // As if the descriptor number had been reused.
  EXPECT_TRUE(absl::IsFailedPrecondition(SharedMemory::attach(other).status()));
  other = ticket;
  other.bytes += 4096;
  EXPECT_TRUE(absl::IsFailedPrecondition(SharedMemory::attach(other).status()));

  (*memory)->close_descriptor();
  const auto late = SharedMemory::attach(ticket);
  EXPECT_TRUE(absl::IsFailedPrecondition(late.status())) << late.status();
}

TEST(SharedMemory, BeyondALimitOnFilesIsAClearError) {
  const FileSizeLimit limit(4096);
  const auto memory = SharedMemory::create(8192);
  EXPECT_TRUE(absl::IsResourceExhausted(memory.status()));
  EXPECT_NE(memory.status().message().find("ulimit -f"), std::string::npos);
}

TEST(SharedMemory, RefusesMalformedTickets) {
  for (const char* text : {"", "1 2 3 4", "1 2 3 4 5 6", "a b c d e",
                           "1 2 3 4 -5", "1 99999999999 3 4 5"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        SharedMemory::Ticket::from_string(text).status()))
        << text;
  }
}

TEST(SharedMemory, ReportsTheRequestedSize) {
  const auto memory = SharedMemory::create(std::size_t{1} << 50);
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(memory.status().message().find("1125899906842624"),
            std::string::npos)
      << memory.status();
}

}  // namespace
}  // namespace hvd::transport
