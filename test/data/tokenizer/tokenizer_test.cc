// SPDX-License-Identifier: Apache-2.0
// The expected ids are those of Python's package tokenizers;
// test/fixtures/make_tokenizer_fixtures.py writes them.
#include "horovodpp/data/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "horovodpp/core/error.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

using testing::ElementsAre;

std::string fixture(const std::string& name) {
  return std::string(HVD_FIXTURES) + "/tokenizers/" + name;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `text` with its only `from` replaced.
std::string with(std::string text, const std::string& from,
                 const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Case {
  std::string text;
  std::vector<std::int64_t> ids;
};

std::vector<Case> cases_of(const std::string& name) {
  std::ifstream file(fixture(name));
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string hexadecimal;
    words >> hexadecimal;
    Case each;
    for (std::size_t i = 0; i < hexadecimal.size(); i += 2) {
      each.text +=
          static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
    }
    for (std::int64_t id; words >> id;) each.ids.push_back(id);
    cases.push_back(std::move(each));
  }
  return cases;
}

void expect_cases(const Tokenizer& tokenizer, const std::string& name) {
  const std::vector<Case> cases = cases_of(name);
  EXPECT_GT(cases.size(), 400U);
  for (const Case& each : cases) {
    EXPECT_EQ(tokenizer.encode(each.text), each.ids) << each.text;
    EXPECT_EQ(tokenizer.decode(each.ids), each.text);
  }
}

// A tokenizer of the letters a, b, c and the given parts.
std::string small_json(const std::string& merges,
                       const std::string& more = "") {
  return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4},)"
         R"("merges":)" +
         merges + R"(},"pre_tokenizer":{"type":"ByteLevel",)" +
         R"("add_prefix_space":false})" + more + "}";
}

TEST(Tokenizer, EncodesAsPythonWithThePatternOfGpt2) {
  expect_cases(Tokenizer::read(fixture("gpt2.json")), "gpt2.cases");
}

TEST(Tokenizer, EncodesAsPythonWithThePatternOfLlama3) {
  expect_cases(Tokenizer::read(fixture("llama3.json")), "llama3.cases");
}

TEST(Tokenizer, EncodesAsPythonWithThePatternOfQwen2) {
  const std::string json =
      with(content_of(fixture("llama3.json")), "\\\\p{N}{1,3}", "\\\\p{N}");
  expect_cases(Tokenizer::of_json(json, "qwen2"), "qwen2.cases");
}

TEST(Tokenizer, ReadsTheVocabularyAndMergesOfOlderFiles) {
  const Tokenizer pair =
      Tokenizer::read(fixture("gpt2-vocab.json"), fixture("gpt2-merges.txt"));
  const Tokenizer one = Tokenizer::read(fixture("gpt2.json"));
  for (const Case& each : cases_of("gpt2.cases")) {
    EXPECT_EQ(pair.encode(each.text, {.added_tokens = false}),
              one.encode(each.text, {.added_tokens = false}));
  }
}

TEST(Tokenizer, DecodesAnyBytesToThemselves) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (int i = 255; i >= 0; --i) bytes += static_cast<char>(i);
  bytes += "caf\xC3 \xE4\xBD \xED\xA0\x80 \xF4\x90\x80\x80 \xC0\x80 \xF0\x9F";
  for (const char* name : {"gpt2.json", "llama3.json"}) {
    const Tokenizer tokenizer = Tokenizer::read(fixture(name));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
  }
}

TEST(Tokenizer, EncodesALongWord) {
  const Tokenizer tokenizer = Tokenizer::read(fixture("gpt2.json"));
  const std::string word(1000000, 'a');
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(word)), word);
  EXPECT_TRUE(tokenizer.encode("").empty());
}

TEST(Tokenizer, FindsAddedTokensUnlessToldNotTo) {
  const Tokenizer tokenizer = Tokenizer::read(fixture("gpt2.json"));
  const std::int64_t end = tokenizer.added_token("<|endoftext|>").value();
  const std::string text = "<|endoftext|>";
  EXPECT_THAT(tokenizer.encode(text), ElementsAre(end));
  EXPECT_GT(tokenizer.vocabulary_size(), end);
  const auto ids = tokenizer.encode(text, {.added_tokens = false});
  EXPECT_GT(ids.size(), 1U);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(tokenizer.decode(std::vector{end}, {.skip_special_tokens = true}),
            "");
  EXPECT_EQ(tokenizer.added_token("<|none|>"), std::nullopt);
}

TEST(Tokenizer, MergesTheFirstOfTheListFirst) {
  const auto encode = [](const std::string& merges) {
    return Tokenizer::of_json(small_json(merges), "x").encode("abcab");
  };
  EXPECT_THAT(encode(R"(["a b","ab c"])"), ElementsAre(4, 3));
  EXPECT_THAT(encode(R"([["a","b"]])"), ElementsAre(3, 2, 3));
  EXPECT_THAT(encode("[]"), ElementsAre(0, 1, 2, 0, 1));
}

TEST(Tokenizer, RefusesBytesAndIdsThatItLacks) {
  const Tokenizer tokenizer = Tokenizer::of_json(small_json("[]"), "x");
  EXPECT_ERROR(InvalidArgument, "0x64", tokenizer.encode("abcd"));
  EXPECT_ERROR(InvalidArgument, "id 5",
               tokenizer.decode(std::vector<std::int64_t>{5}));
  EXPECT_ERROR(InvalidArgument, "id -1",
               tokenizer.decode(std::vector<std::int64_t>{-1}));
}

// Qwen 2 normalizes; an added token between two parts separates these.
TEST(Tokenizer, NormalizesBetweenAddedTokens) {
  const std::string json =
      with(content_of(fixture("llama3.json")), "\"normalizer\":null",
           "\"normalizer\":{\"type\":\"NFC\"}");
  const Tokenizer plain = Tokenizer::read(fixture("llama3.json"));
  const Tokenizer nfc = Tokenizer::of_json(json, "nfc");
  const std::string apart = "cafe\xCC\x81 \xE1\x84\x92\xE1\x85\xA1";
  const std::string together = "caf\xC3\xA9 \xED\x95\x98";
  EXPECT_NE(plain.encode(apart), plain.encode(together));
  EXPECT_EQ(nfc.encode(apart), plain.encode(together));
  EXPECT_EQ(nfc.decode(nfc.encode(apart)), together);
  EXPECT_EQ(nfc.encode(apart, {.added_tokens = false}),
            plain.encode(together, {.added_tokens = false}));
  EXPECT_EQ(nfc.decode(nfc.encode("e<|end|>\xCC\x81")), "e<|end|>\xCC\x81");
}

TEST(Tokenizer, NamesTheFileAndThePlaceOfAMistake) {
  const TemporaryFolder folder;
  const std::string path = folder.path("tokenizer.json");
  EXPECT_ERROR(Error, path, Tokenizer::read(path));
  EXPECT_ERROR(Error, folder.path(), Tokenizer::read(folder.path()));
  const std::pair<std::string, std::string> mistakes[] = {
      {"", "empty"},
      {"{\"model\":\n [1,}", "line 2, column 5"},
      {"[]", "no JSON object"},
      {"{}", "'model'"},
      {R"({"model":{"type":"Unigram"}})", "Unigram"},
      {small_json("[\"a b\",\"abc\"]"), "model.merges[1]"},
      {small_json("[\"a  b\"]"), "model.merges[0]"},
      {small_json("[[\"a\"]]"), "model.merges[0]"},
      {small_json("[\"b c\"]"), "'bc'"},
      {with(small_json("[]"), ":2", ":1"), "id 1"},
      {with(small_json("[]"), ":2", ":-1"), "'c'"},
      {with(small_json("[]"), ":2", ":4294967296"), "'c'"},
      {small_json("[]", R"(,"normalizer":{"type":"NFKC"})"), "NFKC"},
      {small_json("[]", R"(,"added_tokens":[{"id":7}])"), "added_tokens[0]"},
      {small_json("[]", R"(,"added_tokens":[{"id":2,"content":"x"}])"), "'x'"},
      {with(small_json("[]"), "ByteLevel", "Metaspace"), "Metaspace"},
  };
  for (const auto& [json, message] : mistakes) {
    std::ofstream(path) << json;
    EXPECT_ERROR(Error, message, Tokenizer::read(path));
    EXPECT_ERROR(Error, path, Tokenizer::read(path));
  }
}

TEST(Tokenizer, NamesTheLineOfABadMerge) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("vocab.json")) << R"({"a":0,"b":1,"ab":2})";
  std::ofstream(folder.path("merges.txt")) << "#version: 0.2\r\na b\r\nab\r\n";
  EXPECT_ERROR(
      Error, "merges.txt': line 3",
      Tokenizer::read(folder.path("vocab.json"), folder.path("merges.txt")));
}

}  // namespace
}  // namespace hvd::data
