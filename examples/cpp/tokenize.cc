// SPDX-License-Identifier: Apache-2.0
// Writes the token ids of a text to a file, for hvd::data::TokenWindows.
//
//   build/release/examples/cpp/tokenize tokenizer.json README.md readme.tokens
//   ... --merges merges.txt vocab.json README.md readme.tokens
#include <horovodpp/data/data.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Options {
  std::string tokenizer;
  std::string merges;
  std::string text;
  std::string output;
  std::string end_token;
};

void run(const Options& options) {
  using hvd::data::Tokenizer;
  const Tokenizer tokenizer =
      options.merges.empty()
          ? Tokenizer::read(options.tokenizer)
          : Tokenizer::read(options.tokenizer, options.merges);
  std::ifstream text(options.text, std::ios::binary);
  if (!text) {
    throw std::runtime_error("'" + options.text + "' cannot be read");
  }
  hvd::data::TokenFileWriter writer(options.output,
                                    tokenizer.vocabulary_size());
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;
  const auto append = [&](const std::vector<std::int64_t>& ids) {
    writer.append(ids);
    tokens += static_cast<std::int64_t>(ids.size());
  };
  // Line by line, so that the text may be larger than memory.
  for (std::string line; std::getline(text, line);) {
    if (!text.eof()) line += '\n';
    append(tokenizer.encode(line, {.added_tokens = false}));
    bytes += static_cast<std::int64_t>(line.size());
  }
  if (text.bad()) {
    throw std::runtime_error("'" + options.text + "' cannot be read");
  }
  if (!options.end_token.empty()) {
    const auto id = tokenizer.added_token(options.end_token);
    if (!id) {
      throw std::runtime_error("the tokenizer has no token '" +
                               options.end_token + "'");
    }
    append({*id});
  }
  writer.commit();
  std::printf("%lld tokens of %lld bytes\n", static_cast<long long>(tokens),
              static_cast<long long>(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Writes the token ids of a text to a file");
  app.add_option("tokenizer", options.tokenizer,
                 "tokenizer.json, or vocab.json with --merges")
      ->required();
  app.add_option("text", options.text, "the text")->required();
  app.add_option("output", options.output, "the file of tokens")->required();
  app.add_option("--merges", options.merges, "merges.txt");
  app.add_option("--end-token", options.end_token,
                 "an added token to write after the text");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenize: %s\n", error.what());
    return 1;
  }
}
