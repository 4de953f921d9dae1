/* SPDX-License-Identifier: Apache-2.0
 *
 * llmc.h as a C program sees it: the whole way from a file to a generated text.
 */

#include "test/e2e/runtime/api_from_c.h"

#include <llmc/llmc.h>

#include <string.h>

#define TRY(call)                                                              \
  do {                                                                         \
    if ((call) != LLMC_STATUS_OK)                                              \
      goto done;                                                               \
  } while (0)

typedef struct {
  char *text;
  size_t capacity;
  size_t size;
} text_t;

static int append(void *user_data, int32_t token, const char *text,
                  size_t text_size) {
  text_t *out = (text_t *)user_data;
  (void)token;
  if (out->size + text_size >= out->capacity)
    return 1;
  memcpy(out->text + out->size, text, text_size);
  out->size += text_size;
  out->text[out->size] = '\0';
  return 0;
}

int generate_from_c(const char *path, const char *prompt, char *text,
                    size_t capacity, llmc_generate_result_t *result,
                    llmc_error_t *error) {
  llmc_engine_t *engine = NULL;
  llmc_module_t *module = NULL;
  llmc_session_t *session = NULL;
  llmc_generate_options_t options;
  text_t out = {text, capacity, 0};
  int32_t tokens[16];
  size_t num_tokens = 0;
  int succeeded = 0;
  llmc_generate_options_init(&options);
  llmc_generate_result_init(result);
  options.max_tokens = 3;
  text[0] = '\0';
  TRY(llmc_engine_create(NULL, &engine, error));
  TRY(llmc_module_load(engine, path, NULL, &module, error));
  /* What was made from it keeps the engine alive. */
  llmc_engine_destroy(engine);
  engine = NULL;
  TRY(llmc_tokenize(module, prompt, strlen(prompt), 1, 0, tokens, 16,
                    &num_tokens, error));
  TRY(llmc_session_create(module, NULL, &session, error));
  TRY(llmc_session_generate(session, tokens, num_tokens, &options, append, &out,
                            result, error));
  succeeded = 1;
done:
  llmc_module_destroy(module);
  llmc_session_destroy(session);
  llmc_engine_destroy(engine);
  return succeeded;
}
