/* Any bytes through the door for foreign files, whatever it takes them for. */
#include "guested.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    return guested_fuzz(NULL, data, size_bytes);
}
