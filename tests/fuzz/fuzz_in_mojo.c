/* Any bytes as Austin's MOJO: they are refused, or read into a recording whose sums close. */
#include "guested.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    return guested_fuzz(cairn_in_mojo, data, size_bytes);
}
