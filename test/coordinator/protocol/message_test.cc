// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <random>
#include <set>

#include "test/coordinator/protocol/sample_messages.h"

namespace {

// Bytes that this thread has allocated with new.
thread_local std::size_t allocated = 0;

}  // namespace

// Not inline: GCC would report a mismatched new and free.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocated += bytes;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
// The sorts of the standard library use this one.
[[gnu::noinline]] void* operator new(std::size_t bytes,
                                     const std::nothrow_t&) noexcept {
  allocated += bytes;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace hvd::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kHeader = 10;

// Decodes, and checks that the decoder allocates in proportion to the received
// bytes, not to the lengths in them.
absl::StatusOr<Envelope> decode_within_bounds(const std::string& bytes) {
  const std::size_t before = allocated;
  absl::StatusOr<Envelope> decoded = decode(bytes);
  EXPECT_LE(allocated - before, 32 * bytes.size() + 4096);
  return decoded;
}

// A message of the type of `like` with this body.
std::string with_body(const Message& like, const std::string& body) {
  return encode(1, like).substr(0, kHeader) + body;
}

std::string u32(std::uint32_t value) {
  WireWriter writer;
  writer.u32(value);
  return writer.take();
}

TEST(Message, TheSamplesHaveEveryType) {
  std::set<std::size_t> types;
  for (const Message& message : sample_messages()) {
    types.insert(message.index());
  }
  EXPECT_EQ(types.size(), std::variant_size_v<Message>);
}

TEST(Message, EveryTypeSurvivesTheWire) {
  for (const Message& message : sample_messages()) {
    const std::string bytes = encode(11, message);
    const absl::StatusOr<Envelope> back = decode_within_bounds(bytes);
    ASSERT_EQ(back.status(), absl::OkStatus());
    EXPECT_EQ(back->epoch, 11u);
    EXPECT_EQ(back->message.index(), message.index());
    EXPECT_EQ(encode(11, back->message), bytes);
  }
}

TEST(Message, FieldsKeepTheirValues) {
  const Message sent = Inspected{.query = 5,
                                 .ready_count = 7,
                                 .missing_count = 2,
                                 .most_submissions = std::uint64_t{1} << 40,
                                 .ready = {-1, 3},
                                 .missing = {{.rank = 4,
                                              .answers = false,
                                              .has_left = true,
                                              .silence_cause = "gone"}}};
  const auto back = decode(encode(1, sent));
  ASSERT_EQ(back.status(), absl::OkStatus());
  const auto& found = std::get<Inspected>(back->message);
  EXPECT_EQ(found.query, 5u);
  EXPECT_EQ(found.ready_count, 7u);
  EXPECT_EQ(found.missing_count, 2u);
  EXPECT_EQ(found.most_submissions, std::uint64_t{1} << 40);
  EXPECT_EQ(found.ready, (std::vector<int>{-1, 3}));
  ASSERT_EQ(found.missing.size(), 1u);
  EXPECT_EQ(found.missing[0].rank, 4);
  EXPECT_FALSE(found.missing[0].answers);
  EXPECT_FALSE(found.missing[0].has_joined);
  EXPECT_TRUE(found.missing[0].has_left);
  EXPECT_EQ(found.missing[0].silence_cause, "gone");
}

TEST(Message, EveryRequestSurvivesInAProposalAndInADefinition) {
  for (const Request& request : sample_requests()) {
    const auto proposed = decode(encode(1, Propose{.rank = 2,
                                                   .request = shared(request),
                                                   .other = shared(request)}));
    ASSERT_EQ(proposed.status(), absl::OkStatus());
    const auto& propose = std::get<Propose>(proposed->message);
    EXPECT_EQ(*propose.request, request);
    EXPECT_EQ(*propose.other, request);
    const auto defined = decode(
        encode(1, Define{.request = std::make_shared<const Request>(request)}));
    ASSERT_EQ(defined.status(), absl::OkStatus());
    EXPECT_EQ(*std::get<Define>(defined->message).request, request);
  }
}

TEST(Message, SeveralInARowAreReadOneByOne) {
  std::string letter;
  for (const Message& message : sample_messages()) {
    letter += encode(11, message);
  }
  std::string_view rest = letter;
  for (const Message& message : sample_messages()) {
    const absl::StatusOr<Envelope> next = decode_first(rest);
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ(encode(11, next->message), encode(11, message));
  }
  EXPECT_TRUE(rest.empty());
}

TEST(Message, RefusesEveryTruncationAndEveryAddition) {
  for (const Message& message : sample_messages()) {
    const std::string bytes = encode(1, message);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_TRUE(absl::IsInvalidArgument(
          decode_within_bounds(bytes.substr(0, length)).status()))
          << "type " << message.index() << ", the first " << length << " bytes";
    }
    EXPECT_FALSE(decode(bytes + '\0').ok());
    EXPECT_FALSE(decode(bytes + bytes).ok());
  }
}

// A decoded message encodes to exactly the received bytes: nothing is corrected
// silently.
TEST(Message, ACorruptByteIsNeverCorrectedSilently) {
  for (const Message& message : sample_messages()) {
    const std::string bytes = encode(1, message);
    for (std::size_t place = 0; place < bytes.size(); ++place) {
      for (int value = 0; value < 256; ++value) {
        std::string corrupt = bytes;
        corrupt[place] = static_cast<char>(value);
        const auto decoded = decode_within_bounds(corrupt);
        if (!decoded.ok()) continue;
        ASSERT_EQ(encode(decoded->epoch, decoded->message), corrupt)
            << "type " << message.index() << ", byte " << place << " is "
            << value;
      }
    }
  }
}

TEST(Message, SurvivesCorruptionOfSeveralBytes) {
  const std::vector<Message> messages = sample_messages();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = encode(1, messages[random() % messages.size()]);
    for (unsigned flips = 2 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto decoded = decode_within_bounds(bytes);
    if (!decoded.ok()) continue;
    EXPECT_EQ(encode(decoded->epoch, decoded->message), bytes);
  }
}

TEST(Message, AnImpossibleLengthAllocatesNoMemory) {
  const std::string most = u32(0xffffffffu);
  for (const std::string& body :
       {with_body(Ready{}, most), with_body(Passed{}, most),
        with_body(Round{}, most), with_body(Break{}, most),
        with_body(Inspected{}, std::string(20, '\0') + most),
        with_body(Inspected{}, std::string(24, '\0') + most)}) {
    EXPECT_FALSE(decode_within_bounds(body).ok());
  }
}

// The dangerous items are larger in memory than on the wire. The claimed length
// fits the following bytes only if every item has minimal size.
TEST(Message, AListWithAFalseCountAllocatesInProportion) {
  const std::string filling(1 << 20, '\0');
  const std::string promise = u32((1 << 20) / 4);
  for (const std::string& bytes :
       {with_body(Inspected{}, std::string(24, '\0') + promise + filling),
        with_body(Round{}, promise + filling),
        with_body(Propose{.request = shared({})},
                  u32(0) + std::string(1, '\0') + u32(0) + u32(0) + promise +
                      filling)}) {
    EXPECT_FALSE(decode_within_bounds(bytes).ok());
  }
}

TEST(Message, ManyOfTheSmallestItemsCostMemoryInProportion) {
  Inspected inspected;
  inspected.missing.resize(20000);
  Request request;
  request.tensors.resize(100000);
  request.ranks.resize(100000);
  const Propose propose = {.request = shared(request)};
  Round round;
  round.records.resize(50000);
  for (const Message& message :
       {Message(inspected), Message(propose), Message(round)}) {
    const std::string bytes = encode(1, message);
    const auto decoded = decode_within_bounds(bytes);
    ASSERT_EQ(decoded.status(), absl::OkStatus());
    EXPECT_EQ(encode(1, decoded->message), bytes);
  }
}

TEST(Message, ReportsAForeignMessage) {
  for (const std::string& bytes :
       {std::string(), std::string("GET / HTTP/1.1\r\n"),
        std::string(100, '\xff')}) {
    const auto decoded = decode_within_bounds(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(decoded.status()));
    EXPECT_THAT(std::string(decoded.status().message()),
                HasSubstr("is not one of horovodpp's"));
  }
}

TEST(Message, NamesAnUnsupportedVersion) {
  std::string bytes = encode(1, Leave{});
  bytes[4] = 9;
  EXPECT_THAT(std::string(decode(bytes).status().message()),
              HasSubstr("format 9 and not 5"));
}

TEST(Message, RefusesAnUnknownType) {
  std::string bytes = encode(1, Beat{});
  for (std::size_t type = std::variant_size_v<Message>; type < 256; ++type) {
    bytes[kHeader - 1] = static_cast<char>(type);
    EXPECT_TRUE(absl::IsInvalidArgument(decode(bytes).status()));
  }
}

TEST(Message, RefusesAnUnknownRecordKind) {
  std::string bytes = encode(1, Round{{{.kind = kLastRecordKind}}});
  const std::size_t kind = kHeader + 4;
  ASSERT_EQ(decode(bytes).status(), absl::OkStatus());
  bytes[kind] = static_cast<char>(bytes[kind] + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(decode(bytes).status()));
}

TEST(Message, HasADirection) {
  EXPECT_EQ(direction_of(Propose{}), Direction::kUp);
  EXPECT_EQ(direction_of(Halted{}), Direction::kUp);
  EXPECT_EQ(direction_of(Inspected{}), Direction::kUp);
  EXPECT_EQ(direction_of(Define{}), Direction::kDown);
  EXPECT_EQ(direction_of(Round{}), Direction::kDown);
  EXPECT_EQ(direction_of(Closed{}), Direction::kDown);
  EXPECT_EQ(direction_of(Beat{}), Direction::kAny);
  EXPECT_EQ(direction_of(Break{}), Direction::kAny);
}

}  // namespace
}  // namespace hvd::coordinator
