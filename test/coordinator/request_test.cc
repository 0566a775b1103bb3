#include "horovodpp/coordinator/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using ::testing::HasSubstr;

Request weight() {
  Request request;
  request.name = "fc1.weight";
  request.shape = Shape({128, 10});
  return request;
}

std::string mismatch(const Request& b) {
  return find_mismatch(0, weight(), 3, b).value_or("");
}

TEST(Request, AgreesWithItsEqual) { EXPECT_EQ(mismatch(weight()), ""); }

TEST(Request, AMismatchNamesBothRanksAndBothValues) {
  Request b = weight();
  b.shape = Shape({128, 12});
  EXPECT_EQ(mismatch(b),
            "ranks disagree on 'fc1.weight': rank 0 sent float32[128,10], rank "
            "3 sent "
            "float32[128,12]; submit the same shape on every rank");
}

TEST(Request, EveryPartCanMismatch) {
  Request b = weight();
  b.kind = RequestKind::kBroadcast;
  EXPECT_THAT(mismatch(b),
              HasSubstr("rank 0 sent allreduce, rank 3 sent broadcast"));
  b = weight();
  b.dtype = DType::kF64;
  EXPECT_THAT(mismatch(b),
              HasSubstr("float32[128,10], rank 3 sent float64[128,10]"));
  b = weight();
  b.op = ReduceOp::kMax;
  EXPECT_THAT(mismatch(b), HasSubstr("op average, rank 3 sent op max"));
  b = weight();
  b.prescale = 0.5;
  EXPECT_THAT(mismatch(b), HasSubstr("prescale 1 and postscale 1, rank 3 sent "
                                     "prescale 0.5 and postscale 1"));
  b = weight();
  b.root = 1;
  EXPECT_THAT(mismatch(b), HasSubstr("root 0, rank 3 sent root 1"));
  b = weight();
  b.device = Device::cuda(0);
  EXPECT_THAT(mismatch(b), HasSubstr("on cpu, rank 3 sent a tensor on cuda:0"));
}

TEST(Request, AllgathersMayDifferInTheFirstDimensionOnly) {
  Request a = weight();
  a.kind = RequestKind::kAllgather;
  Request b = a;
  b.shape = Shape({7, 10});
  EXPECT_FALSE(find_mismatch(0, a, 1, b).has_value());
  EXPECT_TRUE(is_repetition(a, b));
  b.shape = Shape({128, 11});
  EXPECT_THAT(find_mismatch(0, a, 1, b).value_or(""),
              HasSubstr("only the first dimension may differ"));
  b.shape = Shape({128});
  EXPECT_TRUE(find_mismatch(0, a, 1, b).has_value());
}

TEST(Request, SurvivesTheWire) {
  Request request = weight();
  request.kind = RequestKind::kBroadcast;
  request.dtype = DType::kBF16;
  request.device = Device::cuda(3);
  request.op = ReduceOp::kProduct;
  request.prescale = 0.1;
  request.postscale = -2;
  request.root = 5;
  request.once = true;
  WireWriter writer;
  encode(request, writer);
  WireReader reader(writer.take());
  EXPECT_EQ(decode_request(reader), request);
  EXPECT_TRUE(reader.finished());
}

TEST(Request, RefusesAShapeThatOverflows) {
  Request request = weight();
  request.shape = Shape({std::int64_t{1} << 40, std::int64_t{1} << 40});
  WireWriter writer;
  encode(request, writer);
  WireReader reader(writer.take());
  decode_request(reader);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace hvd::coordinator
