/* tests/fuzz/replay.c - stands in for libFuzzer: feeds every file of the named folders to the target
 *
 *     NAME_fuzz FOLDER-OR-FILE...
 *
 * A folder that does not exist counts as empty. Each input is copied to a block of its exact size, so that
 * the sanitizers see a read past its end. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static int replayed;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) return;
    if (fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        uint8_t *data = n >= 0 ? malloc(n > 0 ? (size_t)n : 1) : NULL;
        rewind(f);
        if (data != NULL && fread(data, 1, (size_t)n, f) == (size_t)n) {
            LLVMFuzzerTestOneInput(data, (size_t)n);
            replayed++;
        }
        free(data);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (dir == NULL) {
            replay_file(argv[i]);
            continue;
        }
        for (struct dirent *e; (e = readdir(dir)) != NULL;) {
            char path[4096];
            if (e->d_name[0] == '.') continue;
            int n = snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (n > 0 && (size_t)n < sizeof path) replay_file(path);
        }
        closedir(dir);
    }
    printf("%d inputs replayed\n", replayed);
    return 0;
}
