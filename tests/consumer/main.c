/* consumer MODEL - opens a model through the installed library and prints its first input */
#include <sardonyx/sardonyx.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    sdx_error err = { 0 };
    sdx_session *s;
    if (argc != 2) return 2;
    if (sdx_session_open(argv[1], NULL, &s, &err) != SDX_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("sardonyx %s: %s %s\n", sdx_version(), sdx_session_input_name(s, 0),
           sdx_type_string(sdx_session_input_type(s, 0)));
    sdx_session_release(s);
    return 0;
}
