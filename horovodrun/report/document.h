// SPDX-License-Identifier: Apache-2.0
// The report as sections of lines and tables, which the text and the page show
// alike.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/report/analysis.h"
#include "horovodrun/report/rank_trace.h"

namespace hvd::launcher::report {

struct Table {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

struct Section {
  std::string title = {};
  std::vector<std::string> lines = {};
  std::vector<Table> tables = {};
};

std::vector<Section> document_of(const std::vector<RankTrace>& ranks,
                                 const Analysis& analysis);

std::string to_text(const std::vector<Section>& document);

// "12.41 ms", "25.60 MB"
std::string shown_time(double us);
std::string shown_bytes(double bytes);

}  // namespace hvd::launcher::report
