/* SPDX-License-Identifier: Apache-2.0
 *
 * chat MODEL.llmc SESSION QUESTION…: a conversation. A turn evaluates only what is new. In the end the session is saved to the file
 * SESSION, and a second session goes on from there: it answers the last question once more. */
#include <llmc/llmc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 4096, MAX_TEXT = 1 << 16, MAX_TURNS = 16 };
static int32_t held[MAX_TOKENS], wanted[MAX_TOKENS]; /* what was evaluated or generated; the whole conversation */
static size_t num_held;
static char answers[MAX_TURNS][MAX_TEXT];
static llmc_error_t error;

static void check(llmc_status_t status) {
  if (status != LLMC_STATUS_OK)
    fprintf(stderr, "chat: %s\n", error.message), exit(1);
}

static int stream(void *answer, int32_t token, const char *text, size_t size) {
  fwrite(text, 1, size, stdout);
  if (token >= 0 && num_held < MAX_TOKENS)
    held[num_held++] = token;
  if (strlen(answer) + size < MAX_TEXT)
    strncat(answer, text, size);
  return fflush(stdout);
}

static void answer_turn(llmc_module_t *module, llmc_session_t *session, const llmc_message_t *messages, size_t count, char *answer) {
  size_t num_wanted, common = 0;
  check(llmc_tokenize_chat(module, messages, count, 0, wanted, MAX_TOKENS, &num_wanted, &error));
  while (common < llmc_session_position(session) && common + 1 < num_wanted && held[common] == wanted[common])
    ++common; /* evaluated already */
  check(llmc_session_truncate(session, (uint32_t)common, &error));
  memcpy(held, wanted, sizeof(held));
  num_held = num_wanted;
  llmc_generate_options_t options;
  llmc_generate_options_init(&options);
  options.max_tokens = 64;
  answer[0] = '\0';
  check(llmc_session_generate(session, wanted + common, num_wanted - common, &options, stream, answer, NULL, &error));
  printf("\n[%zu tokens, %zu of them new]\n", num_wanted, num_wanted - common);
}

int main(int argc, char **argv) {
  llmc_engine_t *engine;
  llmc_module_t *module;
  llmc_session_t *session, *second;
  llmc_message_t messages[2 * MAX_TURNS];
  size_t turns = argc < 4 || argc > 3 + MAX_TURNS ? 0 : (size_t)argc - 3;
  if (turns == 0)
    return fprintf(stderr, "chat MODEL.llmc SESSION QUESTION…\n"), 2;
  check(llmc_engine_create(NULL, &engine, &error));
  check(llmc_module_load(engine, argv[1], NULL, &module, &error));
  check(llmc_session_create(module, NULL, &session, &error));
  for (size_t turn = 0; turn < turns; ++turn) {
    messages[2 * turn] = (llmc_message_t){"user", argv[3 + turn]};
    answer_turn(module, session, messages, 2 * turn + 1, answers[turn]);
    messages[2 * turn + 1] = (llmc_message_t){"assistant", answers[turn]};
  }
  check(llmc_session_save(session, argv[2], &error));
  check(llmc_session_create(module, NULL, &second, &error));
  check(llmc_session_restore(second, argv[2], &error));
  answer_turn(module, second, messages, 2 * turns - 1, answers[turns - 1]);
  llmc_session_destroy(second), llmc_session_destroy(session), llmc_module_destroy(module), llmc_engine_destroy(engine);
}
