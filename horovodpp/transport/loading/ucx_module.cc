// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/ucx_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/loading/module_file.h"
#include "horovodpp/transport/loading/ucx_exchange.h"

namespace hvd::transport {
namespace {

constexpr char kFile[] = "libhorovodpp_ucx.so";

absl::StatusOr<const void*> load() {
  const ModuleFile module(
      kUcxEntry, RTLD_LOCAL,
      {.subject = "horovodpp's module for UCX, which HOROVODPP_TRANSPORT=ucx "
                  "asks for,",
       .cause = "is the UCX installed that it was built with?",
       .ways_out = "install UCX, or set HOROVODPP_TRANSPORT=tcp on all ranks"});
  const std::filesystem::path folder = own_folder();
  std::error_code error;
  if (std::filesystem::exists(folder / kFile, error)) {
    return module.load((folder / kFile).string());
  }
  HVD_ASSIGN_OR_RETURN(const void* entry, module.load_by_name(kFile));
  if (entry != nullptr) return entry;
  return module.failure(
      absl::StrCat("was not found: looked for ", kFile, " in ", folder.string(),
                   " and where the system looks for libraries; build it with "
                   "-DHVD_WITH_UCX=ON where UCX is installed, or set "
                   "HOROVODPP_TRANSPORT=tcp on all ranks"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_ucx_communicator(
    std::unique_ptr<Communicator> wires, const UcxOptions& options) {
  const absl::StatusOr<const void*> entry = load();
  absl::StatusOr<std::string> mine = "";
  if (!entry.ok()) mine = entry.status();
  HVD_RETURN_IF_ERROR(
      exchange_for_ucx(*wires, mine, options.deadline).status());
  return static_cast<const UcxEntry*>(*entry)->make_communicator(
      std::move(wires), options);
}

}  // namespace hvd::transport
