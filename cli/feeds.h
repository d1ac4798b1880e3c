/* feeds.h - inputs for a session from the command line: files, shapes, fills. */
#ifndef SDX_CLI_FEEDS_H
#define SDX_CLI_FEEDS_H

#include "cli/cli.h"

extern const Option cli_feed_options[]; /* --input, --shape, --fill, --seed */

typedef struct FeedSet {
    size_t n;
    const char **names;
    sdx_value **values;
} FeedSet;

/* One value for each input: from its --input file, or of its type and --shape (symbolic sizes are 1), filled as --fill
 * says: random (uniform [0,1), small integers), zero, one, or a number. 0, or an exit code after a message. */
int feeds_make(const Args *a, const sdx_session *s, FeedSet *f);
void feeds_free(FeedSet *f);

#endif
