// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/idx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Type, sizes (below 256) and elements.
std::string idx(char type, const std::string& sizes,
                const std::string& elements) {
  std::string bytes{0, 0, type, static_cast<char>(sizes.size())};
  for (const char size : sizes) bytes += std::string(3, '\0') + size;
  return bytes + elements;
}

class IdxReader : public testing::Test {
 protected:
  Tensor read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return read_idx(path_);
  }
  Tensor read_gz(const std::string& bytes) {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return read_idx(path_);
  }
  absl::Status status(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_));
      return error.status();
    }
    return absl::OkStatus();
  }
  std::string complaint(const std::string& bytes) {
    return std::string(status(bytes).message());
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.path("file");
};

TEST_F(IdxReader, ReadsPlainAndCompressedFiles) {
  const std::string bytes = idx(8, {2, 3}, "abcdef");
  for (const Tensor& t : {read(bytes), read_gz(bytes)}) {
    EXPECT_EQ(t.shape(), (autograd::Dims{2, 3}));
    EXPECT_THAT(t.to_vector<std::uint8_t>(),
                ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  }
}

TEST_F(IdxReader, ReadsEveryTypeOfElements) {
  using std::string;
  EXPECT_EQ(read(idx(9, {1}, "\xfe")).item<std::int8_t>(), -2);
  EXPECT_THAT(
      read(idx(11, {2}, string("\1\2\xff\xfe", 4))).to_vector<std::int16_t>(),
      ElementsAre(258, -2));
  EXPECT_EQ(read(idx(12, {1}, string("\0\0\1\2", 4))).item<std::int32_t>(),
            258);
  EXPECT_EQ(read(idx(13, {1}, string("\x3f\xc0\0\0", 4))).item<float>(), 1.5f);
  EXPECT_EQ(
      read(idx(14, {1}, string("\x3f\xf8\0\0\0\0\0\0", 8))).item<double>(),
      1.5);
}

TEST_F(IdxReader, ReportsMalformedFiles) {
  const std::string good = idx(8, {2, 3}, "abcdef");
  EXPECT_EQ(status(good).code(), absl::StatusCode::kOk);
  EXPECT_THAT(complaint(""), HasSubstr("truncated"));
  EXPECT_THAT(complaint(good.substr(0, 7)), HasSubstr("truncated"));
  EXPECT_THAT(complaint(good.substr(0, good.size() - 1)),
              HasSubstr("truncated"));
  EXPECT_THAT(complaint(good + "x"), HasSubstr("longer"));
  EXPECT_THAT(complaint("some text"), HasSubstr("no IDX file"));
  EXPECT_THAT(complaint(idx(7, {1}, "a")), HasSubstr("no IDX file"));
  EXPECT_THAT(complaint(idx(8, "", "a")), HasSubstr("no IDX file"));
  EXPECT_THAT(complaint(idx(8, std::string(9, '\1'), "a")),
              HasSubstr("9 dimensions"));
  EXPECT_THAT(complaint(idx(8, {0, 1}, "")), HasSubstr("no elements"));
  EXPECT_EQ(status("some text").code(), absl::StatusCode::kDataLoss);
}

// The reader does not allocate the size that the header claims.
TEST_F(IdxReader, RefusesAbsurdSizes) {
  const std::string large = std::string("\xff\xff\xff\xff", 4);
  const std::string header{0, 0, 8, 2};
  EXPECT_THAT(complaint(header + large + large), HasSubstr("larger than any"));
  const std::string header1{0, 0, 8, 1};
  EXPECT_THAT(complaint(header1 + large), HasSubstr("truncated"));
}

TEST_F(IdxReader, NoticesDamageOfACompressedFile) {
  read_gz(idx(8, {100}, std::string(100, 'x')));
  std::string bytes;
  {
    std::ifstream in(path_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t n = 1; n < bytes.size(); ++n) {
    EXPECT_FALSE(status(bytes.substr(0, n)).ok()) << n;
  }
  std::string damaged = bytes;
  damaged[damaged.size() - 6] ^= 1;  // The checksum.
  EXPECT_THAT(complaint(damaged), HasSubstr("damaged"));
}

TEST_F(IdxReader, ReportsAMissingFile) {
  const Status status = error_of([&] { read_idx(folder_.path("none")); });
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(folder_.path("none")));
  EXPECT_THROW(read_idx(folder_.path()), Error);
}

}  // namespace
}  // namespace hvd::data
