#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "highlight.h"

#define TEXT_MAX 4096

/* The lines in their pieces: "k[def]p[ f():]", each line on its own. */
static void assert_pieces(const char *lines, const char *expected)
{
    struct cairn_highlight highlight = {0};
    struct cairn_buf out;

    cairn_buf_init(&out, TEXT_MAX);
    for (const char *line = lines, *end; line; line = end ? end + 1 : NULL) {
        struct cairn_span text, piece;
        enum cairn_highlight_kind kind;
        size_t at = 0;

        end = strchr(line, '\n');
        text =
            (struct cairn_span){(const uint8_t *)line, end ? (size_t)(end - line) : strlen(line)};
        while (cairn_highlight_next(&highlight, text, &at, &kind, &piece))
            cairn_buf_printf(&out, "%c[%.*s]", kind, (int)piece.size_bytes, piece.data);
        cairn_buf_add_str(&out, end ? "\n" : "");
    }
    assert_string_equal(cairn_buf_cstr(&out), expected);
    cairn_buf_release(&out);
}

static void test_words(void **state)
{
    (void)state;
    assert_pieces("", "");
    assert_pieces("def f(x): # a 'text'", "k[def]p[ f(x): ]c[# a 'text']");
    assert_pieces("    return not define.None_ is None",
                  "p[    ]k[return]p[ ]k[not]p[ define.None_ ]k[is]p[ ]k[None]");
    assert_pieces("classes, d, e, yieldé = y", "p[classes, d, e, yieldé = y]");
    assert_pieces("x=1if y else 2", "p[x=1if y ]k[else]p[ 2]");
}

static void test_texts(void **state)
{
    (void)state;
    assert_pieces("a = 'b' + \"c'd\" # e", "p[a = ]s['b']p[ + ]s[\"c'd\"]p[ ]c[# e]");
    assert_pieces("rb'\\'x', far'y', Rb\"\"", "s[rb'\\'x']p[, far]s['y']p[, ]s[Rb\"\"]");
    assert_pieces("'not closed\nif x", "s['not closed]\nk[if]p[ x]");
    assert_pieces("'goes on\\\nhere' if x", "s['goes on\\]\ns[here']p[ ]k[if]p[ x]");
    assert_pieces("'''a\n\n# b \\''' c\n'' d''' if x",
                  "s['''a]\n\ns[# b \\''' c]\ns['' d''']p[ ]k[if]p[ x]");
    assert_pieces("''\"\"''''''", "s['']s[\"\"]s['''''']");
    assert_pieces("'\\", "s['\\]");
}

static void test_fields(void **state)
{
    (void)state;
    assert_pieces("f\"{d[\"a\"]} {{\" if x", "s[f\"{d[\"a\"]} {{\"]p[ ]k[if]p[ x]");
    assert_pieces("f'{x!r:{w}}}}' or 'y'", "s[f'{x!r:{w}}}}']p[ ]k[or]p[ ]s['y']");
    assert_pieces("f\"{x.split('{')[0]}\" or x", "s[f\"{x.split('{')[0]}\"]p[ ]k[or]p[ x]");
    assert_pieces("rf'\\{x}' or rf'\\{{' or x",
                  "s[rf'\\{x}']p[ ]k[or]p[ ]s[rf'\\{{']p[ ]k[or]p[ x]");
    assert_pieces("f\"{a:'>3} {b:'>3}\" or x", "s[f\"{a:'>3} {b:'>3}\"]p[ ]k[or]p[ x]");
    assert_pieces("f'''{a[\"}\"]}\nif''' or x", "s[f'''{a[\"}\"]}]\ns[if''']p[ ]k[or]p[ x]");
    assert_pieces("f\"{a:'>3} {b}\" + 'x' or y", "s[f\"{a:'>3} {b}\"]p[ + ]s['x']p[ ]k[or]p[ y]");
    assert_pieces("f\"\"\"{a[1:2]:\">9}\"\"\" or x", "s[f\"\"\"{a[1:2]:\">9}\"\"\"]p[ ]k[or]p[ x]");
    assert_pieces("f\"{ {'}': 1}['}'] }\" or x", "s[f\"{ {'}': 1}['}'] }\"]p[ ]k[or]p[ x]");
    assert_pieces("'{' or '}'", "s['{']p[ ]k[or]p[ ]s['}']");
    assert_pieces("f'{' if\nif", "s[f'{' if]\nk[if]");
}

/* Whatever it is, the pieces are the line, and it has an end. */
static void test_any_bytes(void **state)
{
    struct cairn_highlight highlight = {0};
    uint8_t line[64];

    (void)state;
    srand(1);
    for (int turn = 0; turn < 20000; turn++) {
        struct cairn_span piece, text = {line, (size_t)(rand() % (int)sizeof(line))};
        enum cairn_highlight_kind kind;
        size_t at = 0, sum = 0;

        for (size_t i = 0; i < sizeof(line); i++)
            line[i] = (uint8_t)(turn % 2 ? "'\"\\{}fr# i\n"[rand() % 11] : rand() % 256);
        while (cairn_highlight_next(&highlight, text, &at, &kind, &piece)) {
            assert_ptr_equal(piece.data, line + sum);
            assert_true(piece.size_bytes > 0);
            sum += piece.size_bytes;
            assert_int_equal(at, sum);
        }
        assert_int_equal(sum, text.size_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
