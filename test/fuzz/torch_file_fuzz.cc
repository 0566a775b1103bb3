// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pickle, and as the end of an archive: the readers return. The
// accepted records fit the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "horovodpp/nn/torch_file/pickle.h"
#include "horovodpp/nn/torch_file/zip_records.h"

namespace {

using namespace hvd::nn;

void read_archive(std::string_view file) {
  const std::string_view tail = file.substr(
      file.size() - std::min(file.size(), ZipDirectory::kTailBytes));
  const auto directory = find_zip_directory(tail, file.size());
  if (!directory.ok()) return;
  const auto records = parse_zip_directory(
      file.substr(directory->begin, directory->bytes), *directory, file.size());
  if (!records.ok()) return;
  for (const ZipRecord& record : *records) {
    const auto begin = zip_content(file.substr(record.header, kZipHeaderBytes),
                                   record, file.size());
    if (!begin.ok()) continue;
    if (*begin > file.size() || record.bytes > file.size() - *begin) {
      __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_archive(bytes);
  const auto pickle = parse_pickle(bytes);
  if (!pickle.ok()) return 0;
  if (pickle->root >= pickle->values.size()) __builtin_trap();
  return 0;
}
