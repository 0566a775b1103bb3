// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/torch_file/archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hvd::nn {
namespace {

constexpr std::string_view kPickle = "/data.pkl";

}  // namespace

Archive::Archive(const std::string& path) : file_(path) {
  std::string start(std::min<std::uint64_t>(file_.bytes(), 2), '\0');
  file_.read_at(0, start.data(), start.size());
  if (start != "PK") {
    fail(absl::UnimplementedError(
        "it is no file of torch.save, or of a PyTorch before 1.6; load it in "
        "Python and save it again"));
  }
  read_records();
}

void Archive::read_records() {
  const std::uint64_t bytes = file_.bytes();
  std::string tail(std::min<std::uint64_t>(bytes, ZipDirectory::kTailBytes),
                   '\0');
  file_.read_at(bytes - tail.size(), tail.data(), tail.size());
  const auto directory = find_zip_directory(tail, bytes);
  if (!directory.ok()) fail(directory.status());
  std::string list(directory->bytes, '\0');
  file_.read_at(directory->begin, list.data(), list.size());
  auto records = parse_zip_directory(list, *directory, bytes);
  if (!records.ok()) fail(records.status());
  // All names begin with one folder.
  std::string folder;
  for (const ZipRecord& record : *records) {
    const std::string_view name = record.name;
    if (name.ends_with(kPickle) &&
        name.find('/') == name.size() - kPickle.size()) {
      folder = record.name.substr(0, name.size() - kPickle.size() + 1);
    }
  }
  if (folder.empty()) {
    fail(absl::UnimplementedError(
        "it is a ZIP archive, but not one of torch.save"));
  }
  for (ZipRecord& record : *records) {
    if (!absl::StartsWith(record.name, folder)) continue;
    std::string name = record.name.substr(folder.size());
    records_.insert_or_assign(std::move(name), std::move(record));
  }
}

const ZipRecord* Archive::find(const std::string& name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? nullptr : &found->second;
}

void Archive::read(const ZipRecord& record, void* content) {
  if (!record.is_plain) {
    fail(absl::UnimplementedError(
        absl::StrCat("record '", record.name,
                     "' is compressed or encrypted, as torch.save does not "
                     "write it")));
  }
  std::string header(kZipHeaderBytes, '\0');
  file_.read_at(record.header, header.data(), header.size());
  const auto begin = zip_content(header, record, file_.bytes());
  if (!begin.ok()) fail(begin.status());
  file_.read_at(*begin, content, record.bytes);
  const auto* bytes = static_cast<const Bytef*>(content);
  if (crc32_z(0, bytes, record.bytes) != record.crc) {
    fail(absl::DataLossError(absl::StrCat(
        "record '", record.name,
        "' is damaged: its checksum differs from the one written with it")));
  }
}

}  // namespace hvd::nn
