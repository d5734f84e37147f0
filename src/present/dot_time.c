#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dot.h"

#define DIGITS_MAX 2 /* of a width or a precision */
#define TEXT_BYTES 512
#define FORMAT_BYTES 32

static const char *skip_digits(const char *at)
{
    const char *start = at;

    while (isdigit((unsigned char)*at))
        at++;
    return at - start <= DIGITS_MAX ? at : NULL;
}

/* Behind a conversion, whose letter is the last; NULL: it is none of a number. */
static const char *skip_conversion(const char *at)
{
    at += 1 + strspn(at + 1, "-+ #0");
    at = skip_digits(at);
    if (at && *at == '.')
        at = skip_digits(at + 1);
    return at && *at && strchr("deEfFgGiu", *at) ? at + 1 : NULL;
}

bool cairn_dot_is_time_format(const char *format)
{
    bool any = false;

    for (const char *at = format; *at;) {
        if (*at != '%') {
            at++;
        } else if (at[1] == '%') {
            at += 2;
        } else {
            at = skip_conversion(at);
            if (!at || any)
                return false;
            any = true;
        }
    }
    return any;
}

/* `spec`: one conversion. Python writes whole numbers without what stands behind the point. */
static void put_number(struct cairn_buf *out, const char *spec, size_t size_bytes, double seconds)
{
    char letter = spec[size_bytes - 1], format[FORMAT_BYTES], text[TEXT_BYTES];

    if (strchr("diu", letter)) {
        (void)snprintf(format, sizeof(format), "%.*s.0f", (int)strcspn(spec, ".diu"), spec);
        (void)snprintf(text, sizeof(text), format, trunc(seconds));
    } else {
        (void)snprintf(format, sizeof(format), "%.*s", (int)size_bytes, spec);
        (void)snprintf(text, sizeof(text), format, seconds);
    }
    cairn_buf_add_str(out, text);
}

void cairn_dot_time(struct cairn_buf *out, const char *format, double seconds)
{
    while (*format) {
        size_t size_bytes = 1;

        if (*format != '%') {
            cairn_buf_u8(out, (uint8_t)*format);
        } else if (format[1] == '%') {
            cairn_buf_u8(out, '%');
            size_bytes = 2;
        } else {
            size_bytes = (size_t)(skip_conversion(format) - format);
            put_number(out, format, size_bytes, seconds);
        }
        format += size_bytes;
    }
}
