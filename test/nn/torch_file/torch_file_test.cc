// SPDX-License-Identifier: Apache-2.0
// The files are written by test/fixtures/make_torch_files.py.
#include "horovodpp/nn/torch_file/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "test/support/temporary_folder.h"

namespace hvd::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(HVD_FIXTURES "/torch_files/") + name;
}

std::string file_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, Tensor> tensors_of(const std::string& name) {
  std::map<std::string, Tensor> found;
  for (const auto& [key, tensor] : load_torch_file(fixture(name)).tensors) {
    found[key] = tensor;
  }
  return found;
}

// The message of the error that reading the file throws, which names it.
std::string refusal(const std::string& path,
                    StatusCode code = StatusCode::kDataLoss) {
  try {
    load_torch_file(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(path));
    return error.what();
  }
  return "nothing";
}

TEST(TorchFile, HasTensorsOfEveryType) {
  const auto found = tensors_of("state_dict.pt");
  for (const DType dtype : kAllDTypes) {
    const Tensor wanted = arange(0, 6).reshape({2, 3}).to(dtype);
    EXPECT_EQ(found.at(name_of(dtype)).dtype(), dtype);
    EXPECT_EQ(found.at(name_of(dtype)).to_string(), wanted.to_string());
  }
}

TEST(TorchFile, HasTensorsOfAnyShapeAndStrides) {
  const auto found = tensors_of("state_dict.pt");
  EXPECT_EQ(found.at("scalar").item<float>(), 2.5);
  EXPECT_EQ(found.at("nothing").shape(), (autograd::Dims{0, 3}));
  EXPECT_THAT(found.at("transposed").contiguous().to_vector<float>(),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(found.at("part").to_vector<float>(),
              ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_THAT(found.at("every other").contiguous().to_vector<float>(),
              ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(found.at("expanded").contiguous().to_vector<float>(),
              ElementsAre(1, 1, 1, 1));
}

TEST(TorchFile, SharedMemoryIsSharedAgain) {
  const auto found = tensors_of("state_dict.pt");
  found.at("whole").data<float>()[4] = 77;
  EXPECT_EQ(found.at("part").data<float>()[0], 77);
}

TEST(TorchFile, AModelAndAnOptimizerLoadTheirState) {
  const TorchFile file = load_torch_file(fixture("checkpoint.pt"));
  EXPECT_THAT(file.others, testing::Contains("name"));
  std::map<std::string, Tensor> all;
  for (const auto& [name, tensor] : file.tensors) all[name] = tensor;
  EXPECT_EQ(count_of({"epoch", all.at("epoch")}), 3);
  EXPECT_EQ(scalar_of({"best", all.at("best")}), 0.5);
  EXPECT_EQ(all.at("done").dtype(), DType::kBool);
  EXPECT_EQ(count_of({"sizes.1", all.at("sizes.1")}), 3);
  EXPECT_EQ(all.at("optimizer.state.0.momentum_buffer").shape(),
            (autograd::Dims{2, 3}));

  Sequential model(std::make_shared<Linear>(3, 2),
                   std::make_shared<BatchNorm1d>(2));
  model.load_state_dict(without_prefix("model.", file.tensors));
  EXPECT_EQ(model.state_dict().front().tensor.to_string(),
            all.at("model.0.weight").to_string());
}

TEST(TorchFile, ANewerPickleHoldsTheSame) {
  const auto model = without_prefix(
      "model.", load_torch_file(fixture("checkpoint.pt")).tensors);
  const auto newer = load_torch_file(fixture("protocol4.pt")).tensors;
  ASSERT_EQ(newer.size(), model.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    EXPECT_EQ(newer[i].name, model[i].name);
    EXPECT_EQ(newer[i].tensor.to_string(), model[i].tensor.to_string());
  }
}

TEST(TorchFile, OtherFilesAreRefusedWithAWayOut) {
  constexpr auto kUnimplemented = StatusCode::kUnimplemented;
  EXPECT_THAT(refusal(fixture("object.pt"), kUnimplemented),
              HasSubstr("needs Python's 'fractions.Fraction'"));
  EXPECT_THAT(refusal(fixture("complex.pt"), kUnimplemented),
              HasSubstr("torch.ComplexFloatStorage"));
  EXPECT_THAT(refusal(fixture("older.pt"), kUnimplemented),
              HasSubstr("before 1.6; load it in Python and save it again"));
  EXPECT_THAT(refusal(fixture("script.pt"), kUnimplemented),
              HasSubstr("TorchScript"));
  EXPECT_THAT(refusal(fixture("nowhere.pt"), StatusCode::kNotFound),
              HasSubstr("cannot be read"));
}

// A bit of the content is noticed by its checksum; a bit elsewhere changes a
// name, a flag that no reader needs, or is noticed as well.
TEST(TorchFile, DamageIsAnErrorOrHarmless) {
  const TemporaryFolder folder;
  const std::string path = folder.path("damaged.pt");
  const std::string whole = file_content(fixture("state_dict.pt"));
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < whole.size(); at += 29) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      load_torch_file(path);
    } catch (const Error&) {
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 20u);
}

TEST(TorchFile, ATruncatedFileIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.path("short.pt");
  const std::string whole = file_content(fixture("state_dict.pt"));
  for (std::size_t bytes = 2; bytes < whole.size(); bytes += 31) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, bytes);
    EXPECT_THAT(refusal(path), HasSubstr("truncated"));
  }
}

}  // namespace
}  // namespace hvd::nn
