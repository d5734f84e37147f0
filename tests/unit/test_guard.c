#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "guard.h"

#define PORT 8123

static void open_on(struct cairn_guard *guard, const char *address, uint16_t port)
{
    struct sockaddr_storage bound = {.ss_family = AF_INET};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&bound;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&bound;

    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_port = htons(port);
    } else {
        bound.ss_family = AF_INET6;
        v6->sin6_port = htons(port);
        assert_int_equal(inet_pton(AF_INET6, address, &v6->sin6_addr), 1);
    }
    assert_int_equal(cairn_guard_init(guard, &bound, NULL), 0);
}

static enum cairn_guard_verdict visit(struct cairn_guard *guard, const char *host,
                                      const char *token)
{
    struct cairn_guard_request request = {.is_read = true,
                                          .host = host,
                                          .host_count = host != NULL,
                                          .has_cookie = token == NULL,
                                          .token = token};

    return cairn_guard_judge(guard, &request);
}

static void test_only_the_names_that_are_ours_are_right(void **state)
{
    static const struct {
        const char *address;
        uint16_t port;
        const char *host;
        bool right;
    } cases[] = {
        {"127.0.0.1", PORT, "127.0.0.1:8123", true},
        {"127.0.0.1", PORT, "localhost:8123", true},
        {"127.0.0.1", PORT, "LOCALHOST:8123", true},
        {"127.0.0.1", PORT, NULL, false},
        {"127.0.0.1", PORT, "", false},
        {"127.0.0.1", PORT, ":8123", false},
        {"127.0.0.1", PORT, "127.0.0.1", false},
        {"127.0.0.1", PORT, "127.0.0.1:", false},
        {"127.0.0.1", PORT, "127.0.0.1:8124", false},
        {"127.0.0.1", PORT, "127.0.0.1:73659", false}, /* 8123 in 16 bits */
        {"127.0.0.1", PORT, "127.0.0.1:+8123", false},
        {"127.0.0.1", PORT, "127.0.0.1: 8123", false},
        {"127.0.0.1", PORT, "127.0.0.1:8123:8123", false},
        {"127.0.0.1", PORT, "127.1:8123", false},
        {"127.0.0.1", PORT, "0x7f.1:8123", false},
        {"127.0.0.1", PORT, "127.0.0.2:8123", false},
        {"127.0.0.1", PORT, "0.0.0.0:8123", false},
        {"127.0.0.1", PORT, "localhost.:8123", false},
        {"127.0.0.1", PORT, "localhost.evil.example:8123", false},
        {"127.0.0.1", PORT, "[::1]:8123", false},
        {"127.0.0.1", PORT, "[::ffff:127.0.0.1]:8123", true},
        {"127.0.0.1", PORT, "[127.0.0.1]:8123", false},
        {"127.0.0.1", PORT, "[::1:8123", false},
        {"127.0.0.1", 80, "127.0.0.1", true},
        {"127.0.0.1", 80, "localhost", true},
        {"::1", PORT, "[::1]:8123", true},
        {"::1", PORT, "[0:0::1]:8123", true},
        {"::1", PORT, "localhost:8123", true},
        {"::1", PORT, "127.0.0.1:8123", false},
        {"0.0.0.0", PORT, "192.0.2.1:8123", true},
        {"0.0.0.0", PORT, "localhost:8123", true},
        {"0.0.0.0", PORT, "evil.example:8123", false},
        {"::", PORT, "[2001:db8::1]:8123", true},
        {"::", PORT, "192.0.2.1:8123", true},
        {"192.0.2.1", PORT, "192.0.2.1:8123", true},
        {"192.0.2.1", PORT, "192.0.2.2:8123", false},
        {"192.0.2.1", PORT, "localhost:8123", false},
    };
    struct cairn_guard guard;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        open_on(&guard, cases[i].address, cases[i].port);
        assert_int_equal(visit(&guard, cases[i].host, NULL),
                         cases[i].right ? CAIRN_GUARD_PASS : CAIRN_GUARD_REFUSE);
        assert_int_equal(visit(&guard, cases[i].host, guard.token),
                         cases[i].right ? CAIRN_GUARD_ENTER : CAIRN_GUARD_REFUSE);
    }
}

static void test_this_machines_name_is_right_only_beyond_it(void **state)
{
    struct cairn_guard guard;
    char host[300];

    (void)state;
    open_on(&guard, "127.0.0.1", PORT);
    assert_string_equal(guard.hostname, "");
    open_on(&guard, "0.0.0.0", PORT);
    if (guard.hostname[0] == '\0') {
        print_message("# skip: this machine has no name\n");
        skip();
    }
    snprintf(host, sizeof(host), "%s:%d", guard.hostname, PORT);
    assert_int_equal(visit(&guard, host, NULL), CAIRN_GUARD_PASS);
    snprintf(host, sizeof(host), "%s.evil.example:%d", guard.hostname, PORT);
    assert_int_equal(visit(&guard, host, NULL), CAIRN_GUARD_REFUSE);
}

/* Every character decides; each server has tokens of its own. */
static void test_only_the_whole_token_opens(void **state)
{
    struct cairn_guard guard, other;
    char token[CAIRN_GUARD_TOKEN_CHARS + 2];

    (void)state;
    open_on(&guard, "127.0.0.1", PORT);
    open_on(&other, "127.0.0.1", PORT);
    assert_int_equal(strspn(guard.token, "0123456789abcdef"), CAIRN_GUARD_TOKEN_CHARS);
    assert_int_equal(strlen(guard.token), CAIRN_GUARD_TOKEN_CHARS);
    assert_string_not_equal(guard.token, other.token);
    assert_string_not_equal(guard.token, guard.once);
    assert_true(cairn_guard_knows(&guard, guard.token));
    for (size_t i = 0; i < CAIRN_GUARD_TOKEN_CHARS; i++) {
        strncpy(token, guard.token, sizeof(token));
        token[i] = token[i] == '0' ? '1' : '0';
        assert_false(cairn_guard_knows(&guard, token));
        token[i] = '\0';
        assert_false(cairn_guard_knows(&guard, token));
    }
    snprintf(token, sizeof(token), "%s0", guard.token);
    assert_false(cairn_guard_knows(&guard, token));
    assert_false(cairn_guard_knows(&guard, guard.once));
    assert_int_equal(visit(&guard, "127.0.0.1:8123", other.token), CAIRN_GUARD_REFUSE);
    assert_int_equal(visit(&guard, "127.0.0.1:8123", ""), CAIRN_GUARD_REFUSE);
}

static void test_what_opens_once_opens_once(void **state)
{
    struct cairn_guard_request head = {.is_read = true, .is_head = true, .host_count = 1};
    struct cairn_guard guard;
    char once[CAIRN_GUARD_TOKEN_CHARS + 1];

    (void)state;
    open_on(&guard, "127.0.0.1", PORT);
    memcpy(once, guard.once, sizeof(once));
    assert_int_equal(visit(&guard, "evil.example", once), CAIRN_GUARD_REFUSE);
    head.host = "127.0.0.1:8123";
    head.token = once;
    assert_int_equal(cairn_guard_judge(&guard, &head), CAIRN_GUARD_ENTER);
    assert_int_equal(visit(&guard, "127.0.0.1:8123", once), CAIRN_GUARD_ENTER);
    assert_int_equal(visit(&guard, "127.0.0.1:8123", once), CAIRN_GUARD_REFUSE);
    assert_int_equal(visit(&guard, "127.0.0.1:8123", ""), CAIRN_GUARD_REFUSE);
    assert_int_equal(visit(&guard, "127.0.0.1:8123", guard.token), CAIRN_GUARD_ENTER);
}

/* Whoever may not see it is not told what it would be allowed to do. */
static void test_who_is_refused_comes_before_what_is_refused(void **state)
{
    struct cairn_guard_request request = {.host = "127.0.0.1:8123", .host_count = 1};
    struct cairn_guard guard;

    (void)state;
    open_on(&guard, "127.0.0.1", PORT);
    assert_int_equal(cairn_guard_judge(&guard, &request), CAIRN_GUARD_REFUSE);
    request.has_cookie = true;
    assert_int_equal(cairn_guard_judge(&guard, &request), CAIRN_GUARD_METHOD);
    request.origin = "http://evil.example";
    request.origin_count = 1;
    assert_int_equal(cairn_guard_judge(&guard, &request), CAIRN_GUARD_REFUSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_names_that_are_ours_are_right),
        cmocka_unit_test(test_this_machines_name_is_right_only_beyond_it),
        cmocka_unit_test(test_only_the_whole_token_opens),
        cmocka_unit_test(test_what_opens_once_opens_once),
        cmocka_unit_test(test_who_is_refused_comes_before_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
