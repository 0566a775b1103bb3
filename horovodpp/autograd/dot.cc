// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/dot.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/record/record.h"

namespace hvd::autograd {
namespace {

using Names = std::vector<std::pair<std::string, Tensor>>;

std::string names_of(const Node& node, const Names& names) {
  std::string text;
  for (const auto& [name, tensor] : names) {
    const bool made = tensor.defined() && tensor.grad_fn().get() == &node;
    const bool is_leaf =
        node.is_accumulate_grad() &&
        static_cast<const AccumulateGrad&>(node).leaf().is_same(tensor);
    if (made || is_leaf) absl::StrAppend(&text, text.empty() ? "" : ", ", name);
  }
  return text;
}

std::string label(const Node& node, const Names& names) {
  const std::string known = names_of(node, names);
  if (!node.is_accumulate_grad()) {
    return absl::StrCat("shape=box label=\"", node.name(),
                        known.empty() ? "" : absl::StrCat("\\n", known), "\"");
  }
  const Tensor& leaf = static_cast<const AccumulateGrad&>(node).leaf();
  return absl::StrCat("label=\"", known.empty() ? "leaf" : known, "\\n",
                      leaf.describe(), "\"");
}

}  // namespace

std::string to_dot(const Tensor& root, const Names& names) {
  const Edge start = gradient_edge(root);
  if (!start) {
    throw NotDifferentiableError(
        absl::StrCat("to_dot: a ", root.describe(),
                     " that does not require grad has no "
                     "graph"));
  }
  std::vector<Node*> found{start.node.get()};
  absl::flat_hash_map<const Node*, std::size_t> numbers{{found[0], 0}};
  std::string arrows;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Edge& edge : found[i]->next_edges()) {
      if (!edge) continue;
      const auto [entry, fresh] =
          numbers.emplace(edge.node.get(), found.size());
      if (fresh) found.push_back(edge.node.get());
      absl::StrAppend(&arrows, "  n", i, " -> n", entry->second, " [label=\"",
                      edge.node->inputs()[edge.input_nr].shape.to_string(),
                      "\"]\n");
    }
  }
  std::string text = "digraph {\n";
  for (std::size_t i = 0; i < found.size(); ++i) {
    absl::StrAppend(&text, "  n", i, " [", label(*found[i], names), "]\n");
  }
  return text + arrows + "}\n";
}

}  // namespace hvd::autograd
