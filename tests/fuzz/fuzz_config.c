/* fuzz_config.c: a pyproject.toml that somebody else wrote. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct cairn_settings settings;
    struct cairn_err err;
    /* Exactly as large as the input and its NUL: ASan then sees a read past its end. */
    char *text = malloc(size_bytes + 1);

    if (text == NULL)
        return 0;
    if (size_bytes > 0)
        memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    cairn_settings_init(&settings);
    (void)cairn_config_text(text, "pyproject.toml", &settings, &err);
    free(text);
    return 0;
}
