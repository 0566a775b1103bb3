// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/gz_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <iterator>
#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

using testing::HasSubstr;

class GzFileTest : public testing::Test {
 protected:
  // `text` as one member of a compressed file.
  std::string member(const std::string& text) {
    gzFile file = gzopen(path_.c_str(), "wb1");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    std::ifstream in(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  std::string read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    GzFile file(path_);
    const auto all = file.read_all(std::uint64_t{1} << 30);
    file.check_end();
    return std::string(all.begin(), all.end());
  }
  std::string complaint(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(error.what(), HasSubstr(path_));
      return error.what();
    }
    return "none";
  }
  // Long and incompressible.
  static std::string noise(std::size_t bytes) {
    std::string result;
    std::uint32_t state = 1;
    while (result.size() < bytes) {
      state = state * 1664525u + 1013904223u;
      result += static_cast<char>(state >> 24);
    }
    return result;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path("file");
};

TEST_F(GzFileTest, ReadsFilesOfAnySizeCompressedOrNot) {
  for (const std::size_t size : {0, 1, 2, 65535, 65536, 65537, 1100000}) {
    SCOPED_TRACE(size);
    const std::string text = noise(size);
    EXPECT_TRUE(read(text) == text);
    EXPECT_TRUE(read(member(text)) == text);
  }
  EXPECT_EQ(read("\x1f"), "\x1f");
  EXPECT_EQ(read("\x1f|"), "\x1f|");
}

// As `cat a.gz b.gz` makes them.
TEST_F(GzFileTest, ReadsOneMemberAfterTheOther) {
  const std::string text = noise(100000);
  EXPECT_EQ(read(member("some ") + member("") + member("text")), "some text");
  EXPECT_TRUE(read(member(text) + member(text)) == text + text);
}

// As padding of tapes and block devices.
TEST_F(GzFileTest, IgnoresZerosAtTheEnd) {
  EXPECT_EQ(read(member("text") + std::string(100000, '\0')), "text");
  EXPECT_EQ(read(member("a") + std::string(512, '\0') + member("b")), "ab");
}

TEST_F(GzFileTest, RefusesUncompressedDataBehindACompressedPart) {
  for (const std::string& more :
       {std::string("x"), std::string("\x1f"), std::string("\0x", 2),
        std::string("\x1f\0", 2), noise(100000)}) {
    EXPECT_THAT(complaint(member("text") + more),
                HasSubstr("uncompressed bytes"));
    EXPECT_THAT(complaint(member(noise(200000)) + more),
                HasSubstr("uncompressed bytes"));
  }
  EXPECT_THAT(complaint(member("text") + "\x1f\x8b"), HasSubstr("truncated"));
  EXPECT_THAT(complaint(member("text") + "\x1f\x8b" + noise(100)),
              HasSubstr("damaged"));
}

TEST_F(GzFileTest, EscapesTheFileNameInErrors) {
  const std::string path = folder_.path("w\xff");
  EXPECT_ERROR(Error, "w\\xff' cannot be opened", const GzFile file(path));
}

}  // namespace
}  // namespace hvd::data
