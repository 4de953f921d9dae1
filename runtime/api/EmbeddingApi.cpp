// SPDX-License-Identifier: Apache-2.0
//
// llmc.h: embeddings.

#include "runtime/api/Objects.h"

namespace api = llmc::api;
namespace runtime = llmc::runtime;
using llmc::okStatus;
using llmc::Status;

extern "C" {

llmc_status_t llmc_embedder_create(llmc_module_t *module,
                                   const llmc_session_options_t *options,
                                   llmc_embedder_t **embedder,
                                   llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!embedder)
      return api::missing("the pointer to the embedder");
    *embedder = nullptr;
    if (!module)
      return api::missing("the module");
    LLMC_ASSIGN_OR_RETURN(const runtime::SessionOptions sessionOptions,
                          api::toSessionOptions(options));
    auto created = std::make_unique<llmc_embedder>();
    LLMC_ASSIGN_OR_RETURN(created->model, runtime::EmbeddingModel::create(
                                              module->module, sessionOptions));
    *embedder = created.release();
    return okStatus();
  });
}

void llmc_embedder_destroy(llmc_embedder_t *embedder) { delete embedder; }

uint32_t llmc_embedder_size(const llmc_embedder_t *embedder) {
  return embedder ? embedder->model->size() : 0;
}

llmc_status_t llmc_embed(llmc_embedder_t *embedder, const int32_t *tokens,
                         const size_t *num_tokens, size_t num_texts,
                         float *embeddings, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!embedder)
      return api::missing("the embedder");
    if (num_texts && (!tokens || !num_tokens || !embeddings))
      return api::missing(!tokens       ? "the list of tokens"
                          : !num_tokens ? "the list of sizes"
                                        : "the pointer to the result");
    std::vector<runtime::TokenList> texts;
    for (size_t i = 0; i < num_texts; tokens += num_tokens[i++])
      texts.emplace_back(tokens, tokens + num_tokens[i]);
    return embedder->model->embed(texts, embeddings);
  });
}

} // extern "C"
