/* ort_client.h - runs a model through any library that has ONNX Runtime's C ABI, for comparison.
 *
 * The ABI is a table of functions whose positions never change; only the few needed here are declared. */
#ifndef SDX_CLI_ORT_CLIENT_H
#define SDX_CLI_ORT_CLIENT_H

#include "cli/feeds.h"

typedef struct OrtClient OrtClient;

/* Opens the library and a session with its default options but the thread count. NULL with a message in err. */
OrtClient *ort_client_open(const char *library, const char *model, int threads, const FeedSet *feeds, sdx_error *err);
/* One run, outputs allocated and released. false with a message in err. */
bool ort_client_run(OrtClient *c, sdx_error *err);
const char *ort_client_version(const OrtClient *c);

#endif
