// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::launcher::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kName[] = "allreduce.<script>alert('\"&')</script>";

std::string page() {
  RankTrace rank = {.work = {{0, {0, 50}}}, .kinds_of_work = {kName}};
  Analysis analysis = {.duration_us = 100,
                       .steps_from = kName,
                       .step_begins = {0, 100},
                       .step_us = 100,
                       .ranks = {{.exposed = {{10, 20}}, .hidden = {{30, 40}}}},
                       .tensors = {{.name = kName}},
                       .planes = {{.name = kName}}};
  return page_of({rank}, analysis, document_of({rank}, analysis));
}

// The fault in the nesting of elements and the quotes of attributes, or "".
std::string fault_in(const std::string& html) {
  std::vector<std::string> open;
  for (auto at = html.find('<'); at != html.npos; at = html.find('<', at + 1)) {
    if (html.compare(at, 2, "<!") == 0) continue;
    const auto end = html.find('>', at);
    if (end == html.npos) return "an element without end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag.empty()) return "an element without name";
    const bool is_end = tag[0] == '/';
    const std::string name = tag.substr(
        is_end ? 1 : 0, tag.find_first_of(" \n/", 1) - (is_end ? 1 : 0));
    int quotes = 0;
    for (const char c : tag) quotes += c == '"' ? 1 : 0;
    if (quotes % 2 != 0) return "quotes of " + tag;
    if (is_end) {
      if (open.empty() || open.back() != tag.substr(1)) return "end of " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    if (name == "script" && !is_end) at = html.find("</script>", at) - 1;
  }
  return open.empty() ? "" : "no end of " + open.back();
}

TEST(Page, IsWellFormed) {
  EXPECT_THAT(fault_in(page()), IsEmpty());
  EXPECT_THAT(fault_in("<p><b></p>"), Not(IsEmpty()));
  EXPECT_THAT(fault_in("<p class=\"a>"), Not(IsEmpty()));
}

TEST(Page, EscapesNames) {
  const std::string html = page();
  EXPECT_THAT(html, Not(HasSubstr("alert('")));
  EXPECT_THAT(html, HasSubstr("<td>allreduce.&lt;script&gt;alert(&#39;&quot;"
                              "&amp;&#39;)&lt;/script&gt;</td>"));
}

TEST(Page, NeedsNoOtherFile) {
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* what : {"src=\"", "href=", "url(", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(what))) << what;
  }
}

TEST(Page, HasLanesInColors) {
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("<rect class=\"exposed\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"hidden\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"work work0\""));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace hvd::launcher::report
