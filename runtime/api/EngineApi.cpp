// SPDX-License-Identifier: Apache-2.0
//
// llmc.h: versions, status names, engines.

#include "runtime/api/Objects.h"

namespace api = llmc::api;
using llmc::okStatus;
using llmc::Status;

extern "C" {

uint32_t llmc_api_version(void) { return LLMC_API_VERSION; }

const char *llmc_version(void) { return LLMC_VERSION; }

const char *llmc_status_name(llmc_status_t status) {
  static const char *const names[] = {"ok",
                                      "invalid_argument",
                                      "invalid_file",
                                      "not_found",
                                      "io",
                                      "unsupported",
                                      "no_vulkan",
                                      "no_device",
                                      "out_of_host_memory",
                                      "out_of_device_memory",
                                      "device_lost",
                                      "timeout",
                                      "cancelled",
                                      "busy",
                                      "non_finite",
                                      "context_full",
                                      "internal",
                                      "self_test_failed"};
  const auto index = static_cast<size_t>(status);
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}

void llmc_engine_options_init(llmc_engine_options_t *options) {
  if (options)
    *options = {sizeof(*options), nullptr};
}

llmc_status_t llmc_engine_create(const llmc_engine_options_t *options,
                                 llmc_engine_t **engine, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!engine)
      return api::missing("the pointer to the engine");
    *engine = nullptr;
    llmc_engine_options_t given;
    llmc_engine_options_init(&given);
    LLMC_RETURN_IF_ERROR(api::readOptions(options, given));
    auto created = std::make_unique<llmc_engine>();
    LLMC_ASSIGN_OR_RETURN(
        created->engine,
        llmc::runtime::Engine::create(api::orEmpty(given.vulkan_library)));
    for (const auto &device : created->engine->devices())
      created->deviceNames.push_back(device.name);
    *engine = created.release();
    return okStatus();
  });
}

void llmc_engine_destroy(llmc_engine_t *engine) { delete engine; }

uint32_t llmc_engine_num_devices(const llmc_engine_t *engine) {
  return engine ? static_cast<uint32_t>(engine->deviceNames.size()) : 0;
}

const char *llmc_engine_device_name(const llmc_engine_t *engine,
                                    uint32_t index) {
  return index < llmc_engine_num_devices(engine)
             ? engine->deviceNames[index].c_str()
             : nullptr;
}

} // extern "C"
