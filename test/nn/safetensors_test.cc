// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The content of a file: length, header and data.
std::string file_of(const std::string& json, const std::string& data) {
  std::string result;
  for (int i = 0; i < 8; ++i) {
    result += static_cast<char>((json.size() >> (8 * i)) & 0xff);
  }
  return result + json + data;
}

class Safetensors : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& bytes) {
    std::ofstream(path("f"), std::ios::binary) << bytes;
  }
  // The message of the error that reading these bytes throws.
  std::string complaint(const std::string& bytes) {
    write(bytes);
    try {
      load_safetensors(path("f"));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path("f")));
      return error.what();
    }
    return "nothing";
  }
  TemporaryFolder folder_;
};

TEST_F(Safetensors, SavesAndLoadsEveryType) {
  std::vector<NamedTensor> saved;
  for (const DType dtype : kAllDTypes) {
    saved.push_back({name_of(dtype), arange(0, 6).reshape({2, 3}).to(dtype)});
  }
  saved.push_back({"scalar", full({}, 2.5)});
  saved.push_back({"nothing", zeros({0, 3})});
  save_safetensors(path("f"), saved, {{"made by", "a \"test\"\n"}});
  const SafetensorsFile loaded = load_safetensors(path("f"));
  EXPECT_EQ(loaded.metadata.at("made by"), "a \"test\"\n");
  ASSERT_EQ(loaded.tensors.size(), saved.size());
  std::size_t element = 8;
  for (const auto& [name, tensor] : loaded.tensors) {
    EXPECT_LE(size_of(tensor.dtype()), element);  // For alignment.
    element = size_of(tensor.dtype());
    const auto original =
        std::find_if(saved.begin(), saved.end(),
                     [&, &n = name](const auto& s) { return s.name == n; });
    ASSERT_NE(original, saved.end()) << name;
    EXPECT_EQ(tensor.to_string(), original->tensor.to_string());
  }
}

// Written by the format's own library: see test/fixtures.
TEST_F(Safetensors, ReadsAFileWrittenByPython) {
  const SafetensorsFile file =
      load_safetensors(HVD_FIXTURES "/python.safetensors");
  EXPECT_EQ(file.metadata.at("made by"), "safetensors");
  EXPECT_EQ(file.tensors.size(), std::size(kAllDTypes) + 2);
  for (const auto& [name, tensor] : file.tensors) {
    const Tensor wanted = name == "scalar" ? full({}, 2.5)
                          : name == "nothing"
                              ? zeros({0, 3})
                              : arange(0, 6).reshape({2, 3}).to(tensor.dtype());
    if (tensor.dim() == 2 && tensor.num_elements() > 0) {
      EXPECT_EQ(name, name_of(tensor.dtype()));
    }
    EXPECT_EQ(tensor.to_string(), wanted.to_string()) << name;
  }
}

TEST_F(Safetensors, WritesStridedTensorsRowByRow) {
  const Tensor x = arange(0, 6).reshape({2, 3});
  save_safetensors(path("f"), {{"t", x.t()}, {"part", x.narrow(1, 1, 2)}});
  const auto loaded = load_safetensors(path("f")).tensors;
  EXPECT_THAT(loaded[0].tensor.to_vector<std::int64_t>(),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(loaded[0].tensor.shape(), (autograd::Dims{3, 2}));
  EXPECT_THAT(loaded[1].tensor.to_vector<std::int64_t>(),
              ElementsAre(1, 2, 4, 5));
}

TEST_F(Safetensors, AlignsTheData) {
  save_safetensors(path("f"), {{"a", ones({1})}});
  const std::string bytes = content_of(path("f"));
  EXPECT_EQ((bytes.size() - sizeof(float)) % 8, 0u);
}

TEST_F(Safetensors, RefusesInvalidNames) {
  const Tensor x = ones({1});
  EXPECT_THROW(save_safetensors(path("f"), {{"a", x}, {"a", x}}),
               InvalidArgument);
  EXPECT_THROW(save_safetensors(path("f"), {{"a", Tensor()}}), InvalidArgument);
  EXPECT_THROW(save_safetensors(path("f"), {{"__metadata__", x}}),
               InvalidArgument);
  EXPECT_THROW(save_safetensors(path("f"), {{"\xff", x}}), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path("f")));
}

TEST_F(Safetensors, ReportsAMissingFile) {
  const Status status = error_of([&] { load_safetensors(path("none")); });
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(path("none")));
  EXPECT_THROW(load_safetensors(folder_.path()), Error);
}

TEST_F(Safetensors, ReadsRegularFilesOnly) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& file :
       {path("fifo"), std::string("/dev/zero"), std::string("/")}) {
    EXPECT_ERROR(Error, "no regular file", load_safetensors(file));
  }
}

TEST_F(Safetensors, ReportsErrorsOfAFile) {
  const std::string four(4, '\0');
  const auto entry = [](const std::string& rest) {
    return "{\"a\":{" + rest + "}}";
  };
  const auto complaint_of = [&](const std::string& json) {
    return complaint(file_of(json, four));
  };
  EXPECT_EQ(
      complaint_of(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])")),
      "nothing");
  EXPECT_THAT(complaint(""), HasSubstr("truncated"));
  EXPECT_THAT(complaint("short"), HasSubstr("truncated"));
  EXPECT_THAT(complaint(std::string(8, '\xff')), HasSubstr("claims"));
  EXPECT_THAT(complaint(file_of("{}", "").substr(0, 9)),
              HasSubstr("truncated"));
  EXPECT_THAT(complaint_of("{"), HasSubstr("no JSON"));
  EXPECT_THAT(complaint_of("\xff"), HasSubstr("no JSON"));
  EXPECT_THAT(complaint_of("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(complaint_of(std::string(100000, '[')), HasSubstr("no JSON"));
  EXPECT_THAT(complaint_of("{\"a\":1}"), HasSubstr("'a'"));
  EXPECT_THAT(complaint_of("{}"), HasSubstr("4 bytes beyond"));
  EXPECT_THAT(complaint_of("{\"__metadata__\":{\"a\":1}}"),
              HasSubstr("__metadata__"));
  EXPECT_THAT(complaint_of("{\"a\":1,\"a\":2}"), HasSubstr("twice"));
}

TEST_F(Safetensors, ReportsErrorsOfATensor) {
  const auto complaint_of = [&](const std::string& dtype,
                                const std::string& shape,
                                const std::string& places) {
    return complaint(file_of("{\"a\":{\"dtype\":" + dtype + ",\"shape\":" +
                                 shape + ",\"data_offsets\":" + places + "}}",
                             std::string(4, '\2')));
  };
  EXPECT_THAT(complaint_of("\"F31\"", "[1]", "[0,4]"), HasSubstr("'F31'"));
  EXPECT_THAT(complaint_of("\"U32\"", "[1]", "[0,4]"), HasSubstr("U32"));
  EXPECT_THAT(complaint_of("7", "[1]", "[0,4]"), HasSubstr("dtype"));
  EXPECT_THAT(complaint_of("\"F32\"", "[-1]", "[0,4]"), HasSubstr("shape"));
  EXPECT_THAT(complaint_of("\"F32\"", "[1.5]", "[0,4]"), HasSubstr("shape"));
  EXPECT_THAT(complaint_of("\"F32\"", "1", "[0,4]"), HasSubstr("shape"));
  EXPECT_THAT(complaint_of("\"F32\"", "[4294967296,4294967296]", "[0,4]"),
              HasSubstr("absurd"));
  EXPECT_THAT(complaint_of("\"F32\"", "[1]", "[0]"), HasSubstr("offsets"));
  EXPECT_THAT(complaint_of("\"F32\"", "[1]", "[4,0]"), HasSubstr("takes 4"));
  EXPECT_THAT(complaint_of("\"F32\"", "[2]", "[0,4]"), HasSubstr("takes 8"));
  EXPECT_THAT(complaint_of("\"F32\"", "[2]", "[0,8]"), HasSubstr("truncated"));
  EXPECT_THAT(complaint_of("\"U8\"", "[3]", "[1,4]"), HasSubstr("gap"));
  EXPECT_THAT(complaint_of("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"),
              HasSubstr("9 dimensions"));
  EXPECT_THAT(complaint_of("\"BOOL\"", "[4]", "[0,4]"), HasSubstr("bool"));
}

TEST_F(Safetensors, ReportsOverlappingTensors) {
  const std::string json =
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})";
  EXPECT_THAT(complaint(file_of(json, "1234")),
              HasSubstr("'b' begins at byte 2, inside of 'a'"));
}

TEST_F(Safetensors, EveryTruncationOfAFileIsAnError) {
  save_safetensors(path("g"), {{"a", ones({3})}, {"b", ones({2, 2})}});
  const std::string whole = content_of(path("g"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_NE(complaint(whole.substr(0, n)), "nothing") << n;
  }
}

// A limit on file size simulates a full disk.
TEST_F(Safetensors, LeavesTheOldFileIfTheDiskIsFull) {
  save_safetensors(path("f"), {{"a", ones({2})}});
  const std::string before = content_of(path("f"));
  const auto on_signal = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = error_of([&] {
    save_safetensors(path("f"), {{"a", ones({10000})}});
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, on_signal);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr(path("f")));
  EXPECT_EQ(content_of(path("f")), before);
  EXPECT_FALSE(std::filesystem::exists(path("f.partial")));
}

}  // namespace
}  // namespace hvd::nn
