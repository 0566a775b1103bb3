// SPDX-License-Identifier: Apache-2.0
// The report as an HTML page that needs no other file, and whose facts are there
// without its script.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/report/analysis.h"
#include "horovodrun/report/document.h"
#include "horovodrun/report/rank_trace.h"

namespace hvd::launcher::report {

std::string page_of(const std::vector<RankTrace>& ranks,
                    const Analysis& analysis,
                    const std::vector<Section>& document);

}  // namespace hvd::launcher::report
