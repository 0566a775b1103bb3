// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/global.h"
#include "test/runtime/world.h"
#include "test/support/expect_error.h"

namespace hvd::replica {
namespace {

using ::testing::HasSubstr;
using transport::LoopbackWorld;

Value everything() {
  return Value::Object{
      {"", nullptr},
      {"yes", true},
      {"no", false},
      {"least", std::numeric_limits<std::int64_t>::min()},
      {"third", 1.0 / 3},
      {"infinite", -std::numeric_limits<double>::infinity()},
      {"text", "Gr\xc3\xbc\xc3\x9f Gott"},
      {"bytes", Value::Bytes{std::string("a\0\xff", 3)}},
      {"none", Value::Array{}},
      {"nested", Value::Array{1, Value::Array{Value::Object{{"x", 2}}}, "3"}}};
}

template <typename Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(ValueTest, HoldsItsContents) {
  const Value value = everything();
  EXPECT_TRUE(value.at("").is_null());
  EXPECT_TRUE(value.at("yes").as_bool());
  EXPECT_FALSE(value.at("no").as_bool());
  EXPECT_EQ(value.at("third").as_double(), 1.0 / 3);
  EXPECT_EQ(value.at("nested").at(0).as_int(), 1);
  EXPECT_EQ(value.at("nested").at(0).as_double(), 1.0);
  EXPECT_EQ(value.at("nested").at(1).at(0).at("x").as_int(), 2);
  EXPECT_EQ(value.at("bytes").as_bytes().size(), 3u);
  EXPECT_STREQ(Value("text").kind(), "string");
  EXPECT_STREQ(Value(std::uint32_t{7}).kind(), "int64");
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_NE(Value("1"), Value(Value::Bytes{"1"}));
}

TEST(ValueTest, ReportsItsActualType) {
  const auto refused = [](auto call) { return refusal_of(call); };
  EXPECT_THAT(refused([] { Value(1).as_string(); }),
              HasSubstr("a value is int64, and not string"));
  EXPECT_THAT(refused([] { Value("1").as_int(); }),
              HasSubstr("a value is string, and not int64"));
  EXPECT_THAT(refused([] { everything().at("missing"); }),
              HasSubstr("no key 'missing'"));
  EXPECT_THAT(refused([] { Value(Value::Array{1}).at(1); }),
              HasSubstr("an array of 1 has no place 1"));
}

TEST(ValueTest, ComesBackFromItsBytes) {
  for (const Value& value :
       {Value(), Value(true), Value(-1), Value(0.1), Value(""),
        Value(Value::Array{}), Value(Value::Object{}), everything()}) {
    EXPECT_EQ(decoded(encoded(value)), value);
  }
}

// Older and newer programs share this format.
TEST(ValueTest, HasAStableEncoding) {
  EXPECT_EQ(encoded(Value::Array{-2, "ab"}),
            std::string("\x01\x07\x02\0\0\0\0\0\0\0"
                        "\x03\xfe\xff\xff\xff\xff\xff\xff\xff"
                        "\x05\x02\0\0\0\0\0\0\0"
                        "ab",
                        30));
}

TEST(ValueTest, KeepsToItsLimits) {
  Value deep = 1;
  for (int i = 0; i < 10; ++i) deep = Value::Array{deep};
  EXPECT_EQ(decoded(encoded(deep, {.depth = 10}), {.depth = 10}), deep);
  EXPECT_THAT(refusal_of([&] { encoded(deep, {.depth = 9}); }),
              HasSubstr("nested more than 9 deep"));
  EXPECT_THAT(refusal_of([&] { decoded(encoded(deep), {.depth = 9}); }),
              HasSubstr("nested more than 9 deep"));
  const std::string text(1000, 'x');
  EXPECT_THAT(refusal_of([&] { encoded(text, {.bytes = 1000}); }),
              HasSubstr("more than 1000 bytes"));
  EXPECT_THAT(refusal_of([&] { decoded(encoded(text), {.bytes = 1000}); }),
              HasSubstr("more than 1000"));
}

TEST(ValueTest, IsNotMadeOfOtherBytes) {
  const std::string good = encoded(everything());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(decoded(good.substr(0, size)), InvalidArgument) << size;
  }
  EXPECT_THAT(refusal_of([&] { decoded(good + "x"); }),
              HasSubstr("go on after it"));
  EXPECT_THAT(refusal_of([] { decoded(std::string("\x02\0", 2)); }),
              HasSubstr("another version"));
  EXPECT_THAT(refusal_of([] { decoded("\x01\x7f"); }),
              HasSubstr("unknown tag"));
  // Claims an array of 2^60 elements, or a text as long.
  for (const char tag : {'\x05', '\x07', '\x08'}) {
    EXPECT_THAT(refusal_of([&] {
                  decoded(std::string("\x01") + tag +
                          std::string("\0\0\0\0\0\0\0\x10", 8));
                }),
                HasSubstr("announce more than is left"));
  }
  const std::string key("\x01\0\0\0\0\0\0\0k\0", 10);
  EXPECT_THAT(
      refusal_of([&] {
        decoded(std::string("\x01\x08\x02\0\0\0\0\0\0\0", 10) + key + key);
      }),
      HasSubstr("the key 'k' twice"));
}

// Any bytes decode to a value or an error. A decoded value can be encoded
// again.
TEST(ValueTest, DecodesAnyBytesSafely) {
  std::mt19937 random(7);
  const std::string good = encoded(everything());
  int values = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    const auto any = [&](std::size_t below) {
      return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    for (std::size_t change = any(4) + 1; change > 0; --change) {
      const std::size_t at = any(bytes.size());
      switch (any(4)) {
        case 0:
          bytes[at] = static_cast<char>(any(256));
          break;
        case 1:
          bytes[at] = static_cast<char>(any(10));
          break;
        case 2:
          bytes.erase(at, any(9) + 1);
          break;
        default:
          bytes.insert(at, any(9) + 1, static_cast<char>(any(10)));
      }
      if (bytes.empty()) break;
    }
    try {
      const Value value = decoded(bytes);
      ++values;
      // NaN does not equal itself, but its bytes do.
      EXPECT_EQ(encoded(decoded(encoded(value))), encoded(value));
    } catch (const InvalidArgument&) {
    }
  }
  EXPECT_GT(values, 100);
  EXPECT_LT(values, 19900);
}

TEST(ValueTest, TravelsFromOneRankToAll) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime current(job);
    const Value mine = Value::Object{{"rank", rank()}, {"all", everything()}};
    EXPECT_EQ(broadcast_object(mine, 2).at("rank").as_int(), 2);
    EXPECT_EQ(broadcast_object(mine, 0).at("all"), everything());
    const std::vector<Value> all =
        allgather_object(rank() == 1 ? Value() : Value(rank()));
    EXPECT_EQ(all, (std::vector<Value>{0, nullptr, 2}));
  });
}

TEST(ValueTest, BeyondTheLimitsIsAnErrorOnAllRanks) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime current(job);
    ObjectOptions options;
    options.limits.bytes = 100;
    const Value mine = rank() == 1 ? Value(std::string(1000, 'x')) : Value(1);
    const char* expected =
        rank() == 1 ? "more than 100 bytes" : "rank 1 could not send its value";
    EXPECT_THAT(error_of([&] { broadcast_object(mine, 1, options); }).message(),
                HasSubstr(expected));
    EXPECT_THAT(error_of([&] { allgather_object(mine, options); }).message(),
                HasSubstr(expected));
    EXPECT_EQ(broadcast_object(mine, 0, options), Value(1));
  });
}

TEST(ValueTest, IsAnErrorIfTheReceivedBytesAreNoValue) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime current(job);
    if (rank() == 0) {
      broadcast_object(std::string("no value"), 0);
    } else {
      EXPECT_THAT(refusal_of([] { broadcast_object(Value(), 0); }),
                  HasSubstr("another version"));
    }
  });
}

}  // namespace
}  // namespace hvd::replica
