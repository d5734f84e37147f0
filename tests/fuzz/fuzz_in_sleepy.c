/* Any bytes as an archive of Very Sleepy: they are refused, or read into a recording whose sums
 * close. */
#include "guested.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    return guested_fuzz(cairn_in_sleepy, data, size_bytes);
}
