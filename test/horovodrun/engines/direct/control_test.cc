// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

const std::vector<ControlMessage> kMessages = {
    {.kind = ControlMessage::Kind::kOrder,
     .order = {.first_rank = 3,
               .ranks = 2,
               .folder = "/home/user/a b",
               .agent = {"/bin/horovodrun", "--agent", "--", "./train", ""},
               .environment = {{"HOROVOD_SIZE", "5"}, {"TEXT", "a=b\nc"}}}},
    {.kind = ControlMessage::Kind::kSignal, .signal = SIGTERM},
    {.kind = ControlMessage::Kind::kSignal, .signal = SIGKILL, .rank = 4},
    {.kind = ControlMessage::Kind::kInput, .input = std::string("a\0b", 3)},
    {.kind = ControlMessage::Kind::kInput},
    {.kind = ControlMessage::Kind::kPing},
};

std::string bytes_of_all() {
  std::string bytes;
  for (const ControlMessage& message : kMessages) bytes += to_bytes(message);
  return bytes;
}

TEST(ControlMessages, ArriveInPiecesOfAnySize) {
  const std::string bytes = bytes_of_all();
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    ControlReader reader;
    std::vector<ControlMessage> arrived;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const std::string part = bytes.substr(at, piece);
      reader.add(part.data(), part.size());
      while (true) {
        const auto message = reader.next();
        ASSERT_TRUE(message.ok()) << message.status();
        if (!message->has_value()) break;
        arrived.push_back(**message);
      }
    }
    EXPECT_EQ(arrived, kMessages) << "in pieces of " << piece;
  }
}

absl::Status status_of(const std::string& bytes) {
  ControlReader reader;
  reader.add(bytes.data(), bytes.size());
  return reader.next().status();
}

std::string framed(const std::string& body) {
  return std::string(1, static_cast<char>(body.size())) +
         std::string("\0\0\0", 3) + body;
}

TEST(ControlMessages, RefuseOtherBytes) {
  // A login shell's greeting, an unknown kind, an impossible signal, an order
  // without ranks, and bytes behind a message.
  for (const std::string& bytes :
       {std::string("Welcome to this host\n"), framed("\x09"), framed(""),
        framed(std::string("\2\0", 2)), framed("\2\x7f"),
        framed(std::string("\1", 1) + std::string(12, '\0')), framed("\2\x0fx"),
        framed("\2\x0f\xfe\xff\xff\xff")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status_of(bytes)))
        << testing::PrintToString(bytes) << ": " << status_of(bytes);
  }
}

TEST(ControlMessages, SurviveAnyChangedByte) {
  const std::string bytes = to_bytes(kMessages[0]);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char other : {'\0', '\x7f', '\xff'}) {
      std::string changed = bytes;
      changed[at] = other;
      const absl::Status status = status_of(changed);
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    }
  }
}

}  // namespace
}  // namespace hvd::launcher
