// SPDX-License-Identifier: Apache-2.0
// The instructions are those of Python's pickletools, of protocols 2 to 5.
#include "horovodpp/nn/torch_file/pickle.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/status.h"
#include "horovodpp/nn/torch_file/pickled_calls.h"

namespace hvd::nn {
namespace {

absl::Status damaged(const std::string& text) {
  return absl::DataLossError("its pickle is damaged: " + text);
}

// Carries out the instructions of a pickle.
class PickleMachine {
 public:
  explicit PickleMachine(std::string_view bytes) : rest_(bytes) {
    for (const PickledValue& shared :
         {PickledValue(PickledNone{}), PickledValue(false),
          PickledValue(true)}) {
      pickle_.values.push_back(shared);
    }
  }
  absl::StatusOr<Pickle> run();

 private:
  // Values that every pickle has.
  static constexpr ValueId kNone = 0;
  static constexpr ValueId kFalse = 1;
  static constexpr ValueId kTrue = 2;

  absl::Status step(std::uint8_t instruction);
  absl::Status step_with_text(std::uint8_t instruction);
  absl::Status step_with_number(std::uint8_t instruction);
  absl::Status step_of_memo(std::uint8_t instruction);
  absl::Status step_of_stack(std::uint8_t instruction);

  // The operand of an instruction: a little-endian number, a text, a line.
  absl::StatusOr<std::uint64_t> number(std::size_t bytes);
  absl::StatusOr<std::string> text(std::size_t length_bytes);
  absl::StatusOr<std::string> line();

  absl::Status push(PickledValue value) {
    pickle_.values.push_back(std::move(value));
    stack_.push_back(static_cast<ValueId>(pickle_.values.size() - 1));
    return absl::OkStatus();
  }
  absl::Status push_id(ValueId id) {
    stack_.push_back(id);
    return absl::OkStatus();
  }
  // The lowest place of the stack that may be taken: above the last mark.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  absl::StatusOr<ValueId> pop();
  absl::StatusOr<std::vector<ValueId>> pop_many(std::size_t count);
  absl::StatusOr<std::vector<ValueId>> pop_to_mark();
  // The value on top of the stack, if it is a T; otherwise nullptr.
  template <typename T>
  T* top() {
    if (stack_.size() <= floor()) return nullptr;
    return std::get_if<T>(&pickle_.values[stack_.back()]);
  }

  absl::Status put(std::uint64_t place);
  absl::Status get(std::uint64_t place);
  absl::Status tuple(absl::StatusOr<std::vector<ValueId>> items);
  absl::Status append(absl::StatusOr<std::vector<ValueId>> items);
  absl::Status set(absl::StatusOr<std::vector<ValueId>> items);
  absl::Status global_of_stack();
  absl::Status persistent();
  absl::Status reduce();
  absl::Status build();

  std::string_view rest_;
  Pickle pickle_;
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;  // Sizes of the stack.
  absl::flat_hash_map<std::uint64_t, ValueId> memo_;
};

absl::StatusOr<Pickle> PickleMachine::run() {
  while (true) {
    HVD_ASSIGN_OR_RETURN(const std::uint64_t instruction, number(1));
    if (instruction == '.') break;
    HVD_RETURN_IF_ERROR(step(static_cast<std::uint8_t>(instruction)));
  }
  HVD_ASSIGN_OR_RETURN(pickle_.root, pop());
  return std::move(pickle_);
}

absl::Status PickleMachine::step(std::uint8_t instruction) {
  switch (instruction) {
    case 0x80:  // PROTO
      return number(1).status();
    case 0x95:  // FRAME
      return number(8).status();
    case 'N':
      return push_id(kNone);
    case 0x88:
      return push_id(kTrue);
    case 0x89:
      return push_id(kFalse);
    case '}':
      return push(PickledDict{});
    case ']':
    case ')':
      return push(PickledList{});
    case 'R':
      return reduce();
    case 'b':
      return build();
    case 'Q':
      return persistent();
    case 0x93:
      return global_of_stack();
    case 'c':
    case 'X':
    case 0x8c:
    case 0x8d:
    case 'C':
    case 'B':
    case 0x8e:
      return step_with_text(instruction);
    case 'K':
    case 'M':
    case 'J':
    case 0x8a:
    case 'G':
      return step_with_number(instruction);
    case 'q':
    case 'r':
    case 'h':
    case 'j':
    case 0x94:
      return step_of_memo(instruction);
    default:
      return step_of_stack(instruction);
  }
}

absl::Status PickleMachine::step_with_text(std::uint8_t instruction) {
  if (instruction == 'c') {
    HVD_ASSIGN_OR_RETURN(const std::string module, line());
    HVD_ASSIGN_OR_RETURN(const std::string name, line());
    return push(PickledGlobal{absl::StrCat(module, ".", name)});
  }
  const bool is_short = instruction == 0x8c || instruction == 'C';
  const bool is_long = instruction == 0x8d || instruction == 0x8e;
  HVD_ASSIGN_OR_RETURN(std::string found, text(is_short ? 1 : is_long ? 8 : 4));
  return push(std::move(found));
}

absl::Status PickleMachine::step_with_number(std::uint8_t instruction) {
  std::size_t bytes = instruction == 'K' ? 1 : instruction == 'M' ? 2 : 4;
  if (instruction == 'G') bytes = 8;
  if (instruction == 0x8a) {  // LONG1
    HVD_ASSIGN_OR_RETURN(bytes, number(1));
    if (bytes > 8) {
      return absl::UnimplementedError("it has an integer of over 64 bits");
    }
  }
  HVD_ASSIGN_OR_RETURN(const std::uint64_t found, number(bytes));
  if (instruction == 'G') {
    return push(std::bit_cast<double>(__builtin_bswap64(found)));
  }
  const bool is_signed = instruction == 'J' || instruction == 0x8a;
  if (!is_signed || bytes == 0) return push(static_cast<std::int64_t>(found));
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return push(static_cast<std::int64_t>(found << unused) >> unused);
}

absl::Status PickleMachine::step_of_memo(std::uint8_t instruction) {
  if (instruction == 0x94) return put(memo_.size());  // MEMOIZE
  const bool is_long = instruction == 'r' || instruction == 'j';
  HVD_ASSIGN_OR_RETURN(const std::uint64_t place, number(is_long ? 4 : 1));
  return instruction == 'q' || instruction == 'r' ? put(place) : get(place);
}

absl::Status PickleMachine::step_of_stack(std::uint8_t instruction) {
  switch (instruction) {
    case '(':
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case 't':
      return tuple(pop_to_mark());
    case 0x85:
    case 0x86:
    case 0x87:
      return tuple(pop_many(instruction - 0x84u));
    case 'a':
      return append(pop_many(1));
    case 'e':
      return append(pop_to_mark());
    case 's':
      return set(pop_many(2));
    case 'u':
      return set(pop_to_mark());
    case '0':
      return pop().status();
    case '1':
      return pop_to_mark().status();
    default:
      return absl::UnimplementedError(absl::StrFormat(
          "its pickle has the instruction 0x%02x, which is not read; save it "
          "with torch.save(..., pickle_protocol=2)",
          instruction));
  }
}

absl::StatusOr<std::uint64_t> PickleMachine::number(std::size_t bytes) {
  if (rest_.size() < bytes) return damaged("it ends early");
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i > 0; --i) {
    value = (value << 8) | static_cast<std::uint8_t>(rest_[i - 1]);
  }
  rest_.remove_prefix(bytes);
  return value;
}

absl::StatusOr<std::string> PickleMachine::text(std::size_t length_bytes) {
  HVD_ASSIGN_OR_RETURN(const std::uint64_t length, number(length_bytes));
  if (rest_.size() < length) return damaged("a text ends beyond it");
  std::string found(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return found;
}

absl::StatusOr<std::string> PickleMachine::line() {
  const std::size_t end = rest_.find('\n');
  if (end == rest_.npos) return damaged("a name does not end");
  std::string found(rest_.substr(0, end));
  rest_.remove_prefix(end + 1);
  return found;
}

absl::StatusOr<ValueId> PickleMachine::pop() {
  if (stack_.size() <= floor()) return damaged("a value is missing");
  const ValueId id = stack_.back();
  stack_.pop_back();
  return id;
}

absl::StatusOr<std::vector<ValueId>> PickleMachine::pop_many(
    std::size_t count) {
  if (stack_.size() - floor() < count) return damaged("a value is missing");
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<ValueId> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  return items;
}

absl::StatusOr<std::vector<ValueId>> PickleMachine::pop_to_mark() {
  if (marks_.empty()) return damaged("a mark is missing");
  auto items = pop_many(stack_.size() - marks_.back());
  marks_.pop_back();
  return items;
}

absl::Status PickleMachine::put(std::uint64_t place) {
  if (stack_.size() <= floor()) return damaged("a value is missing");
  memo_[place] = stack_.back();
  return absl::OkStatus();
}

absl::Status PickleMachine::get(std::uint64_t place) {
  const auto found = memo_.find(place);
  if (found == memo_.end()) return damaged("a reference leads nowhere");
  return push_id(found->second);
}

absl::Status PickleMachine::tuple(absl::StatusOr<std::vector<ValueId>> items) {
  HVD_RETURN_IF_ERROR(items.status());
  return push(PickledList{*std::move(items)});
}

absl::Status PickleMachine::append(absl::StatusOr<std::vector<ValueId>> items) {
  HVD_RETURN_IF_ERROR(items.status());
  auto* const list = top<PickledList>();
  if (list == nullptr) return damaged("items of no list");
  list->items.insert(list->items.end(), items->begin(), items->end());
  return absl::OkStatus();
}

absl::Status PickleMachine::set(absl::StatusOr<std::vector<ValueId>> items) {
  HVD_RETURN_IF_ERROR(items.status());
  auto* const dict = top<PickledDict>();
  if (dict == nullptr || items->size() % 2 != 0) {
    return damaged("entries of no dict");
  }
  for (std::size_t i = 0; i < items->size(); i += 2) {
    dict->entries.emplace_back((*items)[i], (*items)[i + 1]);
  }
  return absl::OkStatus();
}

absl::Status PickleMachine::global_of_stack() {
  HVD_ASSIGN_OR_RETURN(const std::vector<ValueId> names, pop_many(2));
  const auto* module = std::get_if<std::string>(&pickle_[names[0]]);
  const auto* name = std::get_if<std::string>(&pickle_[names[1]]);
  constexpr std::size_t kLongestName = 256;
  if (module == nullptr || name == nullptr ||
      module->size() + name->size() > kLongestName) {
    return damaged("a function has no name");
  }
  return push(PickledGlobal{absl::StrCat(*module, ".", *name)});
}

absl::Status PickleMachine::persistent() {
  HVD_ASSIGN_OR_RETURN(const ValueId id, pop());
  const auto* identifier = std::get_if<PickledList>(&pickle_[id]);
  if (identifier == nullptr) return damaged("a storage has no description");
  HVD_ASSIGN_OR_RETURN(PickledStorage storage,
                       storage_of(pickle_, *identifier));
  return push(std::move(storage));
}

absl::Status PickleMachine::reduce() {
  HVD_ASSIGN_OR_RETURN(const std::vector<ValueId> call, pop_many(2));
  const auto* function = std::get_if<PickledGlobal>(&pickle_[call[0]]);
  const auto* arguments = std::get_if<PickledList>(&pickle_[call[1]]);
  if (function == nullptr || arguments == nullptr) {
    return damaged("a call of no function");
  }
  HVD_ASSIGN_OR_RETURN(PickledValue result,
                       call_pickled(pickle_, function->name, *arguments));
  return push(std::move(result));
}

// A state_dict has attributes, of which none is needed.
absl::Status PickleMachine::build() {
  HVD_RETURN_IF_ERROR(pop().status());
  if (top<PickledDict>() == nullptr) {
    return absl::UnimplementedError(
        "it has an object of a class; save dicts of tensors, as "
        "torch.save(model.state_dict(), file) does");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Pickle> parse_pickle(std::string_view bytes) {
  return PickleMachine(bytes).run();
}

}  // namespace hvd::nn
