// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {
namespace {

using ::testing::HasSubstr;

Request weight() {
  Request request;
  request.key.name = "fc1.weight";
  request.tensors = {{DType::kF32, Shape({128, 10})}};
  return request;
}

Request of_shapes(RequestKind kind, std::vector<Shape> shapes) {
  Request request = weight();
  request.kind = kind;
  request.tensors.clear();
  for (Shape& shape : shapes) {
    request.tensors.push_back({DType::kF32, std::move(shape)});
  }
  return request;
}

std::string mismatch(const Request& a, const Request& b) {
  return find_mismatch(0, a, 3, b).value_or("");
}
std::string mismatch(const Request& b) { return mismatch(weight(), b); }

// Whether the bytes of `request`, changed by `change`, decode.
bool decodes(
    const Request& request,
    const std::function<void(std::string&)>& change = [](auto&) {}) {
  WireWriter writer;
  encode(request, writer);
  std::string bytes = writer.take();
  change(bytes);
  WireReader reader(bytes);
  decode_request(reader);
  return reader.finished();
}

TEST(Request, AgreesWithItsEqual) {
  for (const Request& request : sample_requests()) {
    EXPECT_EQ(mismatch(request, request), "");
    EXPECT_TRUE(is_repetition(request, request));
  }
}

TEST(Request, AMismatchNamesBothRanksAndBothValuesAndTheWayOut) {
  Request b = weight();
  b.tensors[0].shape = Shape({128, 12});
  EXPECT_EQ(mismatch(b),
            "ranks disagree on 'fc1.weight': rank 0 sent float32[128,10], rank "
            "3 sent float32[128,12]; submit the same shape on every rank");
}

TEST(Request, AMismatchNamesTheProcessSet) {
  Request a = weight();
  a.key.process_set = 2;
  Request b = a;
  b.op = ReduceOp::kMax;
  EXPECT_THAT(mismatch(a, b), HasSubstr("'fc1.weight' of process set 2: "));
}

TEST(Request, EveryPartCanMismatch) {
  struct Case {
    std::function<void(Request&)> change;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{
           {[](Request& r) { r.kind = RequestKind::kBroadcast; },
            "rank 0 sent allreduce, rank 3 sent broadcast"},
           {[](Request& r) { r.tensors[0].dtype = DType::kF64; },
            "float32[128,10], rank 3 sent float64[128,10]; submit the same "
            "dtype"},
           {[](Request& r) { r.op = ReduceOp::kMax; },
            "op average, rank 3 sent op max"},
           {[](Request& r) { r.prescale = 0.5; },
            "prescale 1 and postscale 1, rank 3 sent prescale 0.5 and "
            "postscale 1"},
           {[](Request& r) { r.postscale = 0.5; },
            "rank 3 sent prescale 1 and postscale 0.5"},
           {[](Request& r) { r.average_of_participants = true; },
            "an average over all ranks, rank 3 sent an average over "
            "participants"},
           {[](Request& r) { r.root = 1; }, "root 0, rank 3 sent root 1"},
           {[](Request& r) { r.captured = true; },
            "an eager collective, rank 3 sent a captured collective; capture "
            "it "
            "on every rank"},
           {[](Request& r) { r.device = Device::cuda(0); },
            "on cpu, rank 3 sent a tensor on cuda:0"},
           {[](Request& r) {
              r.ranks = {0, 2};
            },
            "ranks [], rank 3 sent ranks [0, 2]"},
           {[](Request& r) { r.subject = 4; },
            "process set 0, rank 3 sent process set 4"},
           {[](Request& r) { r.tensors.push_back(r.tensors[0]); },
            "a group of 1, rank 3 sent a group of 2; submit the same group"},
           {[](Request& r) { r.tensors.clear(); },
            "a group of 1, rank 3 sent a group of 0"}}) {
    Request b = weight();
    c.change(b);
    EXPECT_THAT(mismatch(b), HasSubstr(c.text));
    EXPECT_FALSE(is_repetition(weight(), b)) << c.text;
  }
}

TEST(Request, DevicesOfOneKindAgree) {
  Request a = weight();
  a.device = Device::cuda(0);
  Request b = weight();
  b.device = Device::cuda(1);
  EXPECT_EQ(mismatch(a, b), "");
}

TEST(Request, AMismatchInAGroupNamesTheTensor) {
  const Request a =
      of_shapes(RequestKind::kAllreduce, {Shape({4}), Shape({5})});
  Request b = a;
  b.tensors[1].shape = Shape({6});
  EXPECT_THAT(mismatch(a, b),
              HasSubstr("rank 0 sent float32[5] as tensor 1 of 2, rank 3 sent "
                        "float32[6] as tensor 1 of 2"));
}

TEST(Request, AllgathersAndAlltoallsMayDifferInTheFirstDimensionOnly) {
  for (const RequestKind kind :
       {RequestKind::kAllgather, RequestKind::kAlltoall}) {
    const Request a = of_shapes(kind, {Shape({128, 10})});
    const auto with = [&](Shape shape) {
      return of_shapes(kind, {std::move(shape)});
    };
    for (const Shape& rows : {Shape({7, 10}), Shape({0, 10})}) {
      EXPECT_EQ(mismatch(a, with(rows)), "");
      EXPECT_TRUE(is_repetition(a, with(rows)));
    }
    for (const Shape& other :
         {Shape({128, 11}), Shape({128}), Shape(), Shape({128, 10, 1})}) {
      EXPECT_THAT(mismatch(a, with(other)),
                  HasSubstr("only the first dimension may differ"));
      EXPECT_FALSE(is_repetition(a, with(other)));
    }
    EXPECT_EQ(mismatch(with(Shape()), with(Shape())), "");
    EXPECT_EQ(mismatch(with(Shape({3})), with(Shape({4}))), "");
  }
}

TEST(Request, EachTensorOfAGroupedAllgatherMayDifferInItsFirstDimension) {
  const Request a =
      of_shapes(RequestKind::kAllgather, {Shape({1, 4}), Shape({2, 5})});
  const Request b =
      of_shapes(RequestKind::kAllgather, {Shape({3, 4}), Shape({4, 5})});
  EXPECT_EQ(mismatch(a, b), "");
  const Request c =
      of_shapes(RequestKind::kAllgather, {Shape({3, 4}), Shape({4, 6})});
  EXPECT_THAT(mismatch(a, c), HasSubstr("as tensor 1 of 2"));
}

TEST(Request, OthersMayNotDifferInTheFirstDimension) {
  for (const RequestKind kind :
       {RequestKind::kAllreduce, RequestKind::kBroadcast,
        RequestKind::kReducescatter}) {
    EXPECT_THAT(mismatch(of_shapes(kind, {Shape({2, 3})}),
                         of_shapes(kind, {Shape({4, 3})})),
                HasSubstr("submit the same shape"));
  }
}

TEST(Request, AScalarIsNotAVectorOfOne) {
  EXPECT_THAT(mismatch(of_shapes(RequestKind::kAllreduce, {Shape()}),
                       of_shapes(RequestKind::kAllreduce, {Shape({1})})),
              HasSubstr("rank 0 sent float32[], rank 3 sent float32[1]"));
}

// Requests that differ only in `once` match.
TEST(Request, OnceIsNotCompared) {
  Request b = weight();
  b.once = true;
  EXPECT_EQ(mismatch(b), "");
}

TEST(Request, CountsTheBytesOfTheWholeGroup) {
  EXPECT_EQ(of_shapes(RequestKind::kAllreduce, {}).bytes(), 0u);
  EXPECT_EQ(of_shapes(RequestKind::kAllreduce,
                      {Shape({3, 4}), Shape(), Shape({0, 9})})
                .bytes(),
            4u * 13u);
}

TEST(Request, KeysOfDifferentProcessSetsDiffer) {
  const Key a = {1, "x"};
  const Key b = {2, "x"};
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(a < b);
  EXPECT_EQ((Key{0, "x"}.to_string()), "'x'");
  EXPECT_EQ(a.to_string(), "'x' of process set 1");
}

TEST(Request, EveryKindHasAUniqueName) {
  std::vector<std::string> names;
  for (const RequestKind kind : kAllRequestKinds) {
    for (const std::string& other : names) EXPECT_NE(name_of(kind), other);
    names.push_back(name_of(kind));
  }
}

TEST(Request, SurvivesTheWire) {
  for (Request request : sample_requests()) {
    request.root = -1;
    request.ranks.push_back(std::numeric_limits<int>::min());
    WireWriter writer;
    encode(request, writer);
    const std::string bytes = writer.take();
    WireReader reader(bytes);
    EXPECT_EQ(decode_request(reader), request);
    EXPECT_TRUE(reader.finished());
  }
}

TEST(Request, EveryKindDtypeAndOpSurviveTheWire) {
  for (const RequestKind kind : kAllRequestKinds) {
    for (const DType dtype : kAllDTypes) {
      Request request = weight();
      request.kind = kind;
      request.tensors[0].dtype = dtype;
      EXPECT_TRUE(decodes(request));
    }
  }
}

TEST(Request, NamesItsInvalidValue) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    std::function<void(Request&)> change;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{
           {[](Request& r) { r.kind = static_cast<RequestKind>(4); },
            "operation 4"},
           {[](Request& r) { r.tensors[0].dtype = static_cast<DType>(77); },
            "dtype 77"},
           {[](Request& r) {
              r.tensors[0].shape = Shape({3, -1});
            },
            "shape [3,-1]"},
           {[](Request& r) { r.op = static_cast<ReduceOp>(77); }, "op 77"},
           {[](Request& r) { r.device.kind = static_cast<DeviceKind>(9); },
            "kind of device 9"},
           {[](Request& r) { r.prescale = std::nan(""); }, "scale nan"},
           {[](Request& r) { r.prescale = kInfinity; }, "scale inf"},
           {[](Request& r) { r.postscale = -kInfinity; }, "scale -inf"}}) {
    Request request = weight();
    c.change(request);
    WireWriter writer;
    encode(request, writer);
    const std::string bytes = writer.take();
    WireReader reader(bytes);
    decode_request(reader);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.why(), c.text);
  }
}

TEST(Request, RefusesAnUnknownKind) {
  for (const int kind : {4, 8, 15, 26, 255}) {
    EXPECT_FALSE(decodes(weight(), [&](std::string& bytes) {
      bytes[0] = static_cast<char>(kind);
    }));
  }
}

TEST(Request, RefusesAShapeThatOverflowsOrIsNegative) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  EXPECT_FALSE(
      decodes(of_shapes(RequestKind::kAllreduce, {Shape({kLarge, kLarge})})));
  EXPECT_FALSE(decodes(of_shapes(RequestKind::kAllreduce, {Shape({-1})})));
  EXPECT_FALSE(decodes(
      of_shapes(RequestKind::kAllreduce,
                {Shape({0, std::numeric_limits<std::int64_t>::min()})})));
  // A valid number of elements, but too many bytes.
  EXPECT_FALSE(
      decodes(of_shapes(RequestKind::kAllreduce,
                        {Shape({std::numeric_limits<std::int64_t>::max()})})));
}

TEST(Request, TakesShapesAtTheEdge) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  EXPECT_TRUE(decodes(
      of_shapes(RequestKind::kAllreduce, {Shape({0, kLarge, kLarge})})));
  EXPECT_TRUE(decodes(
      of_shapes(RequestKind::kAllreduce,
                {Shape(std::vector<std::int64_t>(kMaxDimensions, 1))})));
  EXPECT_FALSE(decodes(
      of_shapes(RequestKind::kAllreduce,
                {Shape(std::vector<std::int64_t>(kMaxDimensions + 1, 1))})));
}

}  // namespace
}  // namespace hvd::coordinator
