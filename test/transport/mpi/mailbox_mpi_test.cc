// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/mailbox.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "test/transport/mpi/wires.h"

namespace hvd::transport {
namespace {

class MpiMailboxTest : public MpiWires {};

TEST_F(MpiMailboxTest, MailBeyondTheLimitArrivesWholeAndInOrder) {
  MpiMailbox box = mailbox(1);
  const std::size_t sizes[] = {5000, 1, 1000, 1001, 0, 2000};
  for (std::size_t size : sizes) {
    ASSERT_TRUE(box.send(next(), std::string(size, 'a')).ok());
  }
  for (std::size_t size : sizes) {
    std::optional<Mail> mail;
    while (!mail.has_value()) {
      auto got = box.receive();
      ASSERT_TRUE(got.ok()) << got.status();
      mail = *std::move(got);
    }
    EXPECT_EQ(mail->from, previous());
    EXPECT_EQ(mail->bytes, std::string(size, 'a'));
  }
  while (!*box.flushed()) std::this_thread::yield();
}

TEST_F(MpiMailboxTest, MailOfAnotherGenerationIsDropped) {
  if (world_.size() == 1) return;  // Mail to itself does not travel.
  MpiMailbox old = mailbox(8);
  MpiMailbox now = mailbox(16);
  ASSERT_TRUE(old.send(next(), std::string(3000, 'o')).ok());
  ASSERT_TRUE(old.send(next(), "old").ok());
  ASSERT_TRUE(now.send(next(), "now").ok());
  std::optional<Mail> mail;
  while (!mail.has_value()) {
    auto got = now.receive();
    ASSERT_TRUE(got.ok()) << got.status();
    mail = *std::move(got);
  }
  EXPECT_EQ(mail->bytes, "now");
  while (!*old.flushed() || !*now.flushed()) std::this_thread::yield();
}

}  // namespace
}  // namespace hvd::transport
