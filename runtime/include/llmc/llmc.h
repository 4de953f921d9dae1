/* SPDX-License-Identifier: Apache-2.0
 *
 * llmc's C API: runs compiled language models (.llmc files) on Vulkan devices.
 *
 * ABI. Types are opaque or begin with `struct_size`, which the _init functions
 * set; members are only ever appended, functions and status codes only added.
 * A program built against an older header runs with a newer library of the
 * same soname.
 *
 * Rules for all functions. Strings are UTF-8 and end with a zero. A pointer
 * that a function returns belongs to the object it came from and lives as long.
 * Objects keep what they were made from alive, so that they may be destroyed in
 * any order; null is ignored by the _destroy functions. |error| may be null;
 * otherwise a failure fills it. Nothing is printed, no exception leaves the
 * library, there is no global state. LLMC_STATUS_INVALID_ARGUMENT is for null
 * where something is needed and for values out of range.
 *
 * Threads. Engines and modules may be used by several threads at once. A
 * session is used by one at a time: another gets LLMC_STATUS_BUSY. Only
 * llmc_session_cancel may come at any time.
 */

#ifndef LLMC_LLMC_H
#define LLMC_LLMC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LLMC_API __attribute__((visibility("default")))
#else
#define LLMC_API
#endif

/* Grows when something is added. */
#define LLMC_API_VERSION 3

typedef enum llmc_status {
  LLMC_STATUS_OK = 0,
  LLMC_STATUS_INVALID_ARGUMENT = 1,
  LLMC_STATUS_INVALID_FILE = 2, /* damaged, or not a .llmc file */
  LLMC_STATUS_NOT_FOUND = 3,
  LLMC_STATUS_IO = 4,
  LLMC_STATUS_UNSUPPORTED = 5, /* by this library or this device */
  LLMC_STATUS_NO_VULKAN = 6,
  LLMC_STATUS_NO_DEVICE = 7, /* none can run the file */
  LLMC_STATUS_OUT_OF_HOST_MEMORY = 8,
  LLMC_STATUS_OUT_OF_DEVICE_MEMORY = 9,
  LLMC_STATUS_DEVICE_LOST = 10, /* load the module again */
  LLMC_STATUS_TIMEOUT = 11,     /* the session is dead */
  LLMC_STATUS_CANCELLED = 12,
  LLMC_STATUS_BUSY = 13,
  LLMC_STATUS_NON_FINITE = 14, /* the model computed NaN or infinity */
  LLMC_STATUS_CONTEXT_FULL = 15,
  LLMC_STATUS_INTERNAL = 16,
  LLMC_STATUS_SELF_TEST_FAILED = 17 /* since version 3: the device computes
                                       something else */
} llmc_status_t;

/* What failed, in a sentence with names and numbers; cut when too long. */
typedef struct llmc_error {
  llmc_status_t status;
  char message[1020];
} llmc_error_t;

typedef struct llmc_engine llmc_engine_t;
typedef struct llmc_module llmc_module_t;
typedef struct llmc_session llmc_session_t;
typedef struct llmc_embedder llmc_embedder_t; /* since version 2 */

/* LLMC_API_VERSION of the library. */
LLMC_API uint32_t llmc_api_version(void);
/* For instance "0.1.0"; lives for ever. */
LLMC_API const char *llmc_version(void);
/* For instance "timeout"; "unknown" for a number that is no status. Lives for
 * ever. */
LLMC_API const char *llmc_status_name(llmc_status_t status);

/*===-- Engine: Vulkan and its devices ------------------------------------===*/

typedef struct llmc_engine_options {
  size_t struct_size;
  const char *vulkan_library; /* the loader to open; null: the system's */
} llmc_engine_options_t;

/* Sets |options| to the defaults. */
LLMC_API void llmc_engine_options_init(llmc_engine_options_t *options);

/* Opens Vulkan and looks at its devices; none is no error. |options| may be
 * null. The caller owns |*engine|. LLMC_STATUS_NO_VULKAN: no loader or no
 * driver. */
LLMC_API llmc_status_t llmc_engine_create(const llmc_engine_options_t *options,
                                          llmc_engine_t **engine,
                                          llmc_error_t *error);
LLMC_API void llmc_engine_destroy(llmc_engine_t *engine);

LLMC_API uint32_t llmc_engine_num_devices(const llmc_engine_t *engine);
/* The name of device |index|, null when there is no such device. */
LLMC_API const char *llmc_engine_device_name(const llmc_engine_t *engine,
                                             uint32_t index);

/*===-- Module: a loaded file ---------------------------------------------===*/

/* When a file's kernels are tested on the device: each on a small input, twice,
 * against numbers in the file. */
typedef enum llmc_self_test_mode {
  LLMC_SELF_TEST_WHEN_UNKNOWN = 0, /* unless pipeline_cache_dir knows what this
                                      driver gave with this file. Where there is
                                      such a folder, and num_threads is not 1,
                                      kernels that only prompts of more than 32
                                      tokens use are tested before the first of
                                      these, which fails with
                                      LLMC_STATUS_SELF_TEST_FAILED when one is
                                      wrong; the next load then takes the next
                                      variant */
  LLMC_SELF_TEST_ALWAYS = 1,
  LLMC_SELF_TEST_NEVER = 2
} llmc_self_test_mode_t;

typedef struct llmc_module_options {
  size_t struct_size;
  int32_t device_index;           /* -1: any */
  const char *device_name;        /* a part of it, any case; null: any */
  const char *variant;            /* name of a target; null: the best */
  const char *pipeline_cache_dir; /* compiled pipelines and verdicts of
                                     self-tests are kept there from start to
                                     start; null: nowhere */
  uint32_t num_threads; /* that build pipelines and copy weights, pipelines
                           perhaps behind the load; 0: one for each core; 1:
                           the caller's alone, all before the load returns */
  llmc_self_test_mode_t self_test; /* since version 3 */
} llmc_module_options_t;

LLMC_API void llmc_module_options_init(llmc_module_options_t *options);

/* Loads the file at |path|: chooses the device and the variant of the file for
 * it, builds pipelines, copies weights to the device, tests the kernels. A
 * variant that fails its self-test is passed over for the next one that can
 * run. |options| may be null. The caller owns |*module|. LLMC_STATUS_NO_DEVICE
 * tells what each device lacks. */
LLMC_API llmc_status_t llmc_module_load(llmc_engine_t *engine, const char *path,
                                        const llmc_module_options_t *options,
                                        llmc_module_t **module,
                                        llmc_error_t *error);
LLMC_API void llmc_module_destroy(llmc_module_t *module);

LLMC_API const char *llmc_module_device_name(const llmc_module_t *module);
/* Which variant runs and why; which failed their self-test, and where. */
LLMC_API const char *llmc_module_choice(const llmc_module_t *module);
/* What the self-test gave at load: "passed 31 cases", "passed before on this
 * driver", "not asked for", "the file has none"; ", 20 are left for longer
 * prompts" may follow. Since version 3. */
LLMC_API const char *llmc_module_self_test(const llmc_module_t *module);

/* Runs the self-test of the variant of the file at |path| that would run first,
 * whatever was found before. |options| may be null.
 * LLMC_STATUS_SELF_TEST_FAILED: the device computes wrong or unstable numbers;
 * the message names the kernel, the numbers and what is expected. Since
 * version 3. */
LLMC_API llmc_status_t llmc_engine_self_test(
    llmc_engine_t *engine, const char *path,
    const llmc_module_options_t *options, llmc_error_t *error);
/* Ids are below this. */
LLMC_API uint32_t llmc_module_vocabulary_size(const llmc_module_t *module);
/* Most tokens of a session, or of a text that an encoder takes. */
LLMC_API uint32_t llmc_module_context_length(const llmc_module_t *module);

/*===-- Text --------------------------------------------------------------===*/

/* Writes the ids of |text|, |text_size| bytes of any kind, to |tokens|, and
 * their number to |num_tokens|. When |capacity| is less, only the number is
 * written; that is no failure. |add_bos|: begin as a prompt does, where the
 * model wants it. |parse_special|: spelt-out special tokens become their ids;
 * not for text of users. LLMC_STATUS_UNSUPPORTED: the file has no tokenizer. */
LLMC_API llmc_status_t llmc_tokenize(const llmc_module_t *module,
                                     const char *text, size_t text_size,
                                     int add_bos, int parse_special,
                                     int32_t *tokens, size_t capacity,
                                     size_t *num_tokens, llmc_error_t *error);

typedef struct llmc_message {
  const char *role; /* "system", "user" or "assistant" */
  const char *content;
} llmc_message_t;

/* The tokens of a conversation in the model's own chat format, up to where the
 * assistant's answer begins. Sizes as for llmc_tokenize. |enable_thinking|: let
 * a model that can think do so. LLMC_STATUS_UNSUPPORTED: the file has no chat
 * template, or one of no known family. */
LLMC_API llmc_status_t llmc_tokenize_chat(const llmc_module_t *module,
                                          const llmc_message_t *messages,
                                          size_t num_messages,
                                          int enable_thinking, int32_t *tokens,
                                          size_t capacity, size_t *num_tokens,
                                          llmc_error_t *error);

/* Writes the bytes that |token| stands for, which may be a part of a character,
 * and their number; no zero at the end. Special tokens stand for nothing. Sizes
 * as for llmc_tokenize. */
LLMC_API llmc_status_t llmc_token_bytes(const llmc_module_t *module,
                                        int32_t token, char *bytes,
                                        size_t capacity, size_t *num_bytes,
                                        llmc_error_t *error);

/*===-- Session: a conversation -------------------------------------------===*/

typedef struct llmc_session_options {
  size_t struct_size;
  uint32_t step_timeout_ms; /* for one step; a submission of several steps has
                               as many times as long. 0: 30 s, on software
                               devices 10 minutes */
} llmc_session_options_t;

LLMC_API void llmc_session_options_init(llmc_session_options_t *options);

/* Allocates the session's device memory and records its commands. |options| may
 * be null. The caller owns |*session|. LLMC_STATUS_UNSUPPORTED: the file holds
 * no language model. */
LLMC_API llmc_status_t llmc_session_create(
    llmc_module_t *module, const llmc_session_options_t *options,
    llmc_session_t **session, llmc_error_t *error);
LLMC_API void llmc_session_destroy(llmc_session_t *session);

/* Tokens evaluated so far. */
LLMC_API uint32_t llmc_session_position(const llmc_session_t *session);

/* Evaluates |num_tokens| tokens after those the session has, many at a time.
 * |logits|: room for the vocabulary's size, those after the last token; null:
 * not wanted. After a failure the position is what it was, and unless the
 * device is lost or hangs the session can go on. LLMC_STATUS_CONTEXT_FULL: more
 * than fit; the message has both numbers. */
LLMC_API llmc_status_t llmc_session_prefill(llmc_session_t *session,
                                            const int32_t *tokens,
                                            size_t num_tokens, float *logits,
                                            llmc_error_t *error);
/* One token, in one submission to the device. */
LLMC_API llmc_status_t llmc_session_decode(llmc_session_t *session,
                                           int32_t token, float *logits,
                                           llmc_error_t *error);
/* Forgets all but the first |num_tokens| tokens. LLMC_STATUS_UNSUPPORTED: some
 * are to be kept, but the model overwrites what it remembers (convolutions);
 * such a session also begins anew when an evaluation fails half-way. */
LLMC_API llmc_status_t llmc_session_truncate(llmc_session_t *session,
                                             uint32_t num_tokens,
                                             llmc_error_t *error);
/* A session of its own that has evaluated the same tokens: a prompt that many
 * conversations begin with is evaluated once. The caller owns |*fork|. */
LLMC_API llmc_status_t llmc_session_fork(llmc_session_t *session,
                                         llmc_session_t **fork,
                                         llmc_error_t *error);
/* Writes the session's tokens, as far as later ones depend on them, to the file
 * at |path|; a file of that name is replaced when the new one is whole. The
 * file is about as large as the KV cache. */
LLMC_API llmc_status_t llmc_session_save(llmc_session_t *session,
                                         const char *path, llmc_error_t *error);
/* Goes on where the saved session was: of the same .llmc file and variant, on
 * any device. LLMC_STATUS_INVALID_FILE: it is damaged or of another file, and
 * the session is as before. */
LLMC_API llmc_status_t llmc_session_restore(llmc_session_t *session,
                                            const char *path,
                                            llmc_error_t *error);
/* Ends the evaluation under way, between two submissions, or else the next one,
 * with LLMC_STATUS_CANCELLED. Any thread. */
LLMC_API void llmc_session_cancel(llmc_session_t *session);

/*===-- Generation --------------------------------------------------------===*/

/* Applied in this order: repetition penalty, temperature, top-k, top-p. */
typedef struct llmc_generate_options {
  size_t struct_size;
  uint32_t max_tokens;      /* 0: what the context holds */
  float temperature;        /* 0: the likeliest token */
  int32_t top_k;            /* 0: all */
  float top_p;              /* 1: all */
  float repetition_penalty; /* 1: none */
  uint64_t seed;            /* the same seed gives the same tokens */
  uint32_t prompt_lookup;   /* most tokens that a step guesses from the text
                               and checks; pays where texts repeat themselves,
                               and gives what sampling token by token does; 0:
                               none. LLMC_STATUS_UNSUPPORTED for models that
                               can't go back. Since version 3 */
} llmc_generate_options_t;

/* Greedy, without an end but the model's own. */
LLMC_API void llmc_generate_options_init(llmc_generate_options_t *options);

/* Called with each |token| and the whole characters that are complete with it,
 * |text_size| bytes, perhaps none; in the end perhaps once more with token -1
 * and what was left. Anything but 0 ends the generation. */
typedef int (*llmc_token_callback_t)(void *user_data, int32_t token,
                                     const char *text, size_t text_size);

typedef enum llmc_stop_reason {
  LLMC_STOP_TOKEN = 0, /* the model ended its turn */
  LLMC_STOP_MAX_TOKENS = 1,
  LLMC_STOP_CONTEXT_FULL = 2,
  LLMC_STOP_CALLBACK = 3
} llmc_stop_reason_t;

typedef struct llmc_generate_result {
  size_t struct_size;
  llmc_stop_reason_t reason;
  uint32_t num_tokens;        /* generated, without the stop token */
  double prefill_seconds;     /* of the prompt */
  double first_token_seconds; /* from the call to the first token */
  double decode_seconds;      /* of all tokens but the first */
  uint32_t num_steps;         /* of decoding; since version 3 */
} llmc_generate_result_t;

LLMC_API void llmc_generate_result_init(llmc_generate_result_t *result);

/* Evaluates |prompt|, at least one token, and generates. |options|, |callback|
 * and |result| may be null. */
LLMC_API llmc_status_t llmc_session_generate(
    llmc_session_t *session, const int32_t *prompt, size_t num_prompt_tokens,
    const llmc_generate_options_t *options, llmc_token_callback_t callback,
    void *user_data, llmc_generate_result_t *result, llmc_error_t *error);

/*===-- Embeddings (since version 2) --------------------------------------===*/

/* A session of a text encoder. |options| may be null. The caller owns
 * |*embedder|. LLMC_STATUS_UNSUPPORTED: the file holds no encoder. */
LLMC_API llmc_status_t llmc_embedder_create(
    llmc_module_t *module, const llmc_session_options_t *options,
    llmc_embedder_t **embedder, llmc_error_t *error);
LLMC_API void llmc_embedder_destroy(llmc_embedder_t *embedder);

/* Numbers of an embedding. */
LLMC_API uint32_t llmc_embedder_size(const llmc_embedder_t *embedder);

/* Embeds |num_texts| texts: |tokens| are those of all, one text after another,
 * |num_tokens[i]| those of text i. |embeddings|: room for
 * llmc_embedder_size() floats for each. A text's embedding does not depend on
 * the others. LLMC_STATUS_CONTEXT_FULL: a text is too long; the message has
 * both numbers. LLMC_STATUS_UNSUPPORTED: the file does not say how rows become
 * an embedding. */
LLMC_API llmc_status_t llmc_embed(llmc_embedder_t *embedder,
                                  const int32_t *tokens,
                                  const size_t *num_tokens, size_t num_texts,
                                  float *embeddings, llmc_error_t *error);

#ifdef __cplusplus
}
#endif

#endif /* LLMC_LLMC_H */
