// SPDX-License-Identifier: Apache-2.0
// The records of a file that PyTorch has saved, by their names.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/system/input_file.h"
#include "horovodpp/nn/torch_file/zip_records.h"

namespace hvd::nn {

class Archive {
 public:
  //   hvd::Error  the file cannot be read, is damaged, or is no archive of
  //               PyTorch's. Names the file
  explicit Archive(const std::string& path);

  // The record of that name, without the archive's own; nullptr: none.
  const ZipRecord* find(const std::string& name) const;
  // Reads the content: record.bytes bytes.
  //   hvd::Error  the file cannot be read; the content has changed since it was
  //               written (DataLoss), or is compressed (Unimplemented)
  void read(const ZipRecord& record, void* content);

  // Throws `status`, with the name of the file.
  [[noreturn]] void fail(const absl::Status& status) const {
    file_.fail(status);
  }

 private:
  void read_records();

  InputFile file_;
  absl::flat_hash_map<std::string, ZipRecord> records_;
};

}  // namespace hvd::nn
