#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 64

static int parse(const char *text, uint16_t port, struct sockaddr_storage *ret_address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;

    if (strcmp(text, "localhost") == 0)
        text = "127.0.0.1";
    *ret_address = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        return sizeof(*v6);
    }
    return -CAIRN_EUSAGE;
}

static int refuse(int sys, const char *address, uint16_t port, struct cairn_err *err)
{
    if (sys == EADDRINUSE) {
        cairn_err_set(err, -CAIRN_EEXISTS, 0, "listen", "port %u of %.100s is in use already",
                      (unsigned)port, address);
        cairn_err_add(err, "Name another one with -p; -p 0 finds one that is free.");
        return -CAIRN_EEXISTS;
    }
    if (sys == EADDRNOTAVAIL) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "listen", "%.100s is no address of this machine",
                      address);
        cairn_err_add(err, "Leave -a out to serve this machine alone.");
        return -CAIRN_EUSAGE;
    }
    return cairn_err_set(err, sys == EACCES ? -CAIRN_EPERM : -CAIRN_EIO, sys, "listen",
                         "cannot listen on port %u of %.100s", (unsigned)port, address);
}

int cairn_listen(const char *address, uint16_t port, struct sockaddr_storage *ret_bound,
                 struct cairn_err *err)
{
    socklen_t bound_bytes = sizeof(*ret_bound);
    int size_bytes = parse(address, port, ret_bound), fd, on = 1, off = 0, sys;

    if (size_bytes < 0) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "listen", "%.100s is no IP address", address);
        cairn_err_add(err, "-a takes an address of this machine: 127.0.0.1, ::1, 0.0.0.0.");
        return -CAIRN_EUSAGE;
    }
    fd = socket(ret_bound->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return refuse(errno, address, port, err);
    /* A port that we have just left; one that somebody listens on is refused all the same. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (ret_bound->ss_family == AF_INET6) /* `::` is every address, as 0.0.0.0 is */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, (struct sockaddr *)ret_bound, (socklen_t)size_bytes) == 0 &&
        listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)ret_bound, &bound_bytes) == 0)
        return fd;
    sys = errno;
    close(fd);
    return refuse(sys, address, port, err);
}
