/* SPDX-License-Identifier: Apache-2.0
 *
 * The C part of the API's test.
 */

#ifndef LLMC_TEST_E2E_RUNTIME_API_FROM_C_H
#define LLMC_TEST_E2E_RUNTIME_API_FROM_C_H

#include <llmc/llmc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Generates up to three tokens after |prompt| into |text|; 0 on failure. */
int generate_from_c(const char *path, const char *prompt, char *text,
                    size_t capacity, llmc_generate_result_t *result,
                    llmc_error_t *error);

#ifdef __cplusplus
}
#endif

#endif /* LLMC_TEST_E2E_RUNTIME_API_FROM_C_H */
