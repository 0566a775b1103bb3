// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/plans/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/checkpoint/plans/plan_cost.h"

namespace hvd {
namespace {

using autograd::PlanStep;

constexpr double kWidth = 900, kMemoryHeight = 140, kLeft = 60, kTop = 44;

struct Look {
  const char* name;
  const char* colour;
};

Look look_of(PlanStep::Kind kind) {
  switch (kind) {
    case PlanStep::Kind::kForward:
      return {"forward", "#4c78a8"};
    case PlanStep::Kind::kRecomputation:
      return {"again", "#f58518"};
    case PlanStep::Kind::kBackward:
      return {"backward", "#54a24b"};
    case PlanStep::Kind::kCommunication:
      break;
  }
  return {"communication", "#b279a2"};
}

std::string text_at(double x, double y, const std::string& text,
                    const char* anchor = "start") {
  return absl::StrFormat("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n",
                         x, y, anchor, text);
}

std::string box(double x, double y, double width, double height,
                const char* colour, const std::string& title) {
  return absl::StrFormat(
      "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'>"
      "<title>%s</title></rect>\n",
      x, y, std::max(width, 0.3), height, colour, title);
}

std::string megabytes(std::int64_t bytes) {
  return absl::StrFormat("%.2f MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

std::string draw(const CheckpointPlan& plan, const ChainCost& chain) {
  std::vector<PlanStep> steps;
  const PlanCost cost = autograd::account_of(plan, chain, &steps);
  const double row =
      std::clamp(400.0 / static_cast<double>(plan.stages()), 2.0, 16.0);
  const double rows = row * static_cast<double>(plan.stages());
  const double floor = kTop + rows + 24 + kMemoryHeight;
  const double scale = cost.step_seconds > 0 ? kWidth / cost.step_seconds : 0;
  const double per_byte =
      cost.peak_bytes > 0 ? kMemoryHeight / static_cast<double>(cost.peak_bytes)
                          : 0;
  std::string svg = absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
      "font-family='sans-serif' font-size='12'>\n",
      kLeft + kWidth + 20, floor + 28);
  double legend = kLeft;
  for (const auto kind :
       {PlanStep::Kind::kForward, PlanStep::Kind::kRecomputation,
        PlanStep::Kind::kBackward, PlanStep::Kind::kCommunication}) {
    const auto [name, colour] = look_of(kind);
    svg += box(legend, 8, 12, 12, colour, name);
    svg += text_at(legend + 17, 18, name);
    legend += 110;
  }
  svg += text_at(kLeft - 6, kTop + row, "0", "end");
  svg +=
      text_at(kLeft - 6, kTop + rows, absl::StrCat(plan.stages() - 1), "end");
  for (const PlanStep& step : steps) {
    const auto [name, colour] = look_of(step.kind);
    const double x = kLeft + step.begin * scale;
    const double width = (step.end - step.begin) * scale;
    const std::string title =
        absl::StrFormat("stage %d %s, %.3g ms", step.stage, name,
                        (step.end - step.begin) * 1e3);
    const bool computes = step.kind != PlanStep::Kind::kCommunication;
    const double height = computes ? row * 0.9 : row * 0.35;
    const double y = kTop + row * static_cast<double>(step.stage) +
                     (computes ? 0.0 : row * 0.55);
    svg += box(x, y, width, height, colour, title);
    if (!computes) continue;
    const double held = static_cast<double>(step.bytes) * per_byte;
    svg += box(x, floor - held, width, held, "#9d9da3",
               absl::StrCat(title, ", ", megabytes(step.bytes)));
  }
  svg += text_at(kLeft - 6, floor - kMemoryHeight + 4, "peak", "end");
  svg += text_at(kLeft, floor + 18,
                 absl::StrFormat(
                     "%s at most; %.3g ms of computing, %.3g ms in all; %s",
                     megabytes(cost.peak_bytes), cost.seconds * 1e3,
                     cost.step_seconds * 1e3, plan.to_string().substr(0, 100)));
  return svg + "</svg>\n";
}

}  // namespace hvd
