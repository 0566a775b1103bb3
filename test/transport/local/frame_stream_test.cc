// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/frame_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hvd::transport {
namespace {

using ::testing::HasSubstr;

// Reads data frames into `memory`, and keeps other frames.
class Kept : public FrameReader {
 public:
  std::byte* memory_for(int, const FrameHeader& header) override {
    return header.kind == FrameKind::kData ? memory : nullptr;
  }
  void arrived(int, const FrameHeader& header, std::string bytes) override {
    if (memory_for(0, header) != nullptr) {
      bytes.assign(reinterpret_cast<const char*>(memory), header.bytes);
    }
    frames.emplace_back(header, std::move(bytes));
  }

  std::byte* memory = nullptr;
  std::vector<std::pair<FrameHeader, std::string>> frames;
};

class FrameStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    here_ = std::make_unique<FrameStream>(1, OwnedDescriptor(ends[0]), mine_);
    there_ =
        std::make_unique<FrameStream>(0, OwnedDescriptor(ends[1]), theirs_);
  }

  void pass(std::size_t frames) {
    int turns = 10'000;
    while (theirs_.frames.size() < frames) {
      ASSERT_GT(--turns, 0) << theirs_.frames.size() << " frames have come";
      ASSERT_TRUE(here_->write().ok());
      ASSERT_TRUE(there_->read().ok());
    }
  }

  Kept mine_;
  Kept theirs_;
  std::unique_ptr<FrameStream> here_;
  std::unique_ptr<FrameStream> there_;
};

TEST_F(FrameStreams, BorrowedBytesCanBecomeItsOwnOnTheWay) {
  std::string text(4 << 20, 'a');  // More than a socket buffers.
  const auto number = here_->send_borrowed({.kind = FrameKind::kMail},
                                           std::as_bytes(std::span(text)));
  ASSERT_TRUE(here_->write().ok());
  ASSERT_FALSE(here_->was_sent(number));
  here_->own(number);
  text.assign(text.size(), 'b');
  pass(1);
  EXPECT_TRUE(here_->was_sent(number));
  EXPECT_TRUE(theirs_.frames[0].second == std::string(4 << 20, 'a'));
}

TEST_F(FrameStreams, MemoryThatIsGivenUpIsLeftAlone) {
  std::string target(4 << 20, '?');
  theirs_.memory = std::as_writable_bytes(std::span(target)).data();
  here_->send({.kind = FrameKind::kData}, std::string(target.size(), 'a'));
  ASSERT_TRUE(here_->write().ok());
  ASSERT_TRUE(there_->read().ok());
  ASSERT_EQ(target[0], 'a');
  there_->release_memory();
  target.assign(target.size(), '!');
  here_->send({.kind = FrameKind::kMail}, "next");
  pass(1);
  EXPECT_EQ(theirs_.frames[0].second, "next");
  EXPECT_TRUE(target == std::string(4 << 20, '!'));
}

// Mail and data in turns, of sizes around those at which reads change.
TEST_F(FrameStreams, FramesArriveWholeInPiecesOfAnySize) {
  std::string wire;
  std::vector<std::string> bodies;
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 5'000, 33'000, 70'000}) {
    for (const FrameKind kind : {FrameKind::kMail, FrameKind::kData}) {
      const FrameHeader header = {.kind = kind, .bytes = bytes};
      wire.append(reinterpret_cast<const char*>(&header), sizeof(header));
      bodies.emplace_back(bytes, static_cast<char>('a' + bodies.size()));
      wire.append(bodies.back());
    }
  }
  for (const std::size_t piece : {7, 63, 64, 65, 1'000, 32'768, 50'000}) {
    theirs_.frames.clear();
    std::string target(70'000, '?');
    theirs_.memory = std::as_writable_bytes(std::span(target)).data();
    for (std::size_t at = 0; at < wire.size(); at += piece) {
      const std::string next = wire.substr(at, piece);
      ASSERT_EQ(::send(here_->descriptor(), next.data(), next.size(), 0),
                static_cast<ssize_t>(next.size()));
      ASSERT_TRUE(there_->read().ok());
    }
    ASSERT_TRUE(there_->read().ok());
    ASSERT_EQ(theirs_.frames.size(), bodies.size()) << "pieces of " << piece;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      EXPECT_TRUE(theirs_.frames[i].second == bodies[i])
          << bodies[i].size() << " bytes in pieces of " << piece;
    }
  }
}

TEST_F(FrameStreams, AnUnknownKindIsAnError) {
  here_->send({.kind = static_cast<FrameKind>(9)}, "text");
  ASSERT_TRUE(here_->write().ok());
  const absl::Status status = there_->read();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 sent a frame"));
  EXPECT_TRUE(there_->is_at_end());
}

TEST_F(FrameStreams, AHeaderOfManyBytesTakesNoMemory) {
  const FrameHeader header = {.kind = FrameKind::kMail,
                              .bytes = std::uint64_t{1} << 60};
  ASSERT_EQ(::send(here_->descriptor(), &header, sizeof(header), 0),
            static_cast<ssize_t>(sizeof(header)));
  ASSERT_EQ(::send(here_->descriptor(), "few", 3, 0), 3);
  EXPECT_TRUE(there_->read().ok());
  here_.reset();
  EXPECT_TRUE(there_->read().ok());
  EXPECT_TRUE(there_->is_at_end());
  EXPECT_TRUE(theirs_.frames.empty());
}

TEST_F(FrameStreams, FramesBeforeTheEndAreRead) {
  here_->send({.kind = FrameKind::kMail}, "last");
  ASSERT_TRUE(here_->write().ok());
  // The stream closes with unread bytes, which the system reports as an error.
  there_->send({.kind = FrameKind::kMail}, "unread");
  ASSERT_TRUE(there_->write().ok());
  here_.reset();
  const auto number = there_->send({.kind = FrameKind::kMail}, "too late");
  ASSERT_TRUE(there_->write().ok());
  EXPECT_TRUE(there_->was_sent(number));
  EXPECT_FALSE(there_->is_at_end());
  ASSERT_TRUE(there_->read().ok());
  ASSERT_TRUE(there_->read().ok());
  EXPECT_TRUE(there_->is_at_end());
  ASSERT_EQ(theirs_.frames.size(), 1u);
  EXPECT_EQ(theirs_.frames[0].second, "last");
}

}  // namespace
}  // namespace hvd::transport
