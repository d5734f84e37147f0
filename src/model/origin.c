#include "origin.h"

#include <ctype.h>
#include <string.h>

static bool starts(struct cairn_span text, const char *head)
{
    size_t size_bytes = strlen(head);

    return text.size_bytes >= size_bytes && !memcmp(text.data, head, size_bytes);
}

static bool ends(struct cairn_span text, const char *tail)
{
    size_t size_bytes = strlen(tail);

    return text.size_bytes >= size_bytes &&
           !memcmp(text.data + text.size_bytes - size_bytes, tail, size_bytes);
}

static struct cairn_span behind(struct cairn_span text, size_t skip_bytes)
{
    return (struct cairn_span){text.data + skip_bytes, text.size_bytes - skip_bytes};
}

/* The text behind the last `part`, which is a whole folder; {NULL, 0} when it is not there. */
static struct cairn_span behind_folder(struct cairn_span path, const char *part)
{
    struct cairn_span found = {NULL, 0};
    size_t size_bytes = strlen(part);

    for (size_t at = 0; at + size_bytes < path.size_bytes; at++)
        if ((at == 0 || path.data[at - 1] == '/') && path.data[at + size_bytes] == '/' &&
            !memcmp(path.data + at, part, size_bytes))
            found = behind(path, at + size_bytes + 1);
    return found;
}

/* Bytes of "python3.12/", "python3.13t/" or "python312.zip/" at the start of `text`, or 0. */
static size_t library_folder_bytes(struct cairn_span text)
{
    size_t at = strlen("python");
    bool dot = false;

    if (!starts(text, "python"))
        return 0;
    if (at == text.size_bytes || !isdigit(text.data[at]))
        return 0;
    for (; at < text.size_bytes && (isdigit(text.data[at]) || (!dot && text.data[at] == '.')); at++)
        if (text.data[at] == '.') {
            if (at + 1 < text.size_bytes && !isdigit(text.data[at + 1]))
                break;
            dot = true;
        }
    if (!dot && starts(behind(text, at), ".zip/"))
        return at + strlen(".zip/");
    if (dot && at < text.size_bytes && text.data[at] == 't')
        at++; /* free-threaded builds */
    return dot && at < text.size_bytes && text.data[at] == '/' ? at + 1 : 0;
}

/* The text behind "lib/python3.12/" and its like; {NULL, 0} when this is not in one. */
static struct cairn_span behind_stdlib(struct cairn_span path)
{
    static const char *const libs[] = {"lib", "lib64"};

    for (size_t i = 0; i < sizeof(libs) / sizeof(libs[0]); i++) {
        size_t lib_bytes = strlen(libs[i]);

        for (size_t at = 0; at + lib_bytes < path.size_bytes; at++) {
            struct cairn_span rest;
            size_t skip_bytes;

            if ((at && path.data[at - 1] != '/') || path.data[at + lib_bytes] != '/' ||
                memcmp(path.data + at, libs[i], lib_bytes))
                continue;
            rest = behind(path, at + lib_bytes + 1);
            skip_bytes = library_folder_bytes(rest);
            if (skip_bytes)
                return behind(rest, skip_bytes);
        }
    }
    return (struct cairn_span){NULL, 0};
}

static struct cairn_span behind_packages(struct cairn_span path)
{
    struct cairn_span found = behind_folder(path, "site-packages");

    return found.data ? found : behind_folder(path, "dist-packages");
}

/* The machinery only: importlib.metadata and .resources are libraries that programs call. */
static bool is_importlib(struct cairn_span below_stdlib)
{
    static const char *const files[] = {
        "importlib/__init__.py", "importlib/_bootstrap.py", "importlib/_bootstrap_external.py",
        "importlib/util.py",     "importlib/_abc.py",       "zipimport.py",
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (below_stdlib.size_bytes == strlen(files[i]) && starts(below_stdlib, files[i]))
            return true;
    return false;
}

uint8_t cairn_origin_of(struct cairn_span file)
{
    struct cairn_span below;

    if (!file.size_bytes)
        return CAIRN_ORIGIN_NONE;
    if (file.size_bytes == 1 && file.data[0] == '~') /* functions of C, where calls are counted */
        return CAIRN_ORIGIN_STDLIB;
    if (starts(file, "<frozen ")) {
        if (starts(file, "<frozen importlib._") || starts(file, "<frozen zipimport"))
            return CAIRN_ORIGIN_IMPORT;
        return CAIRN_ORIGIN_STDLIB;
    }
    /* Code that libraries write at run time; "<string>", "<stdin>" and the like are the user's. */
    if (starts(file, "<__array_function__") || starts(file, "<decorator-gen") ||
        starts(file, "<attrs generated") || starts(file, "<torch_package") ||
        starts(file, "<eval_with_key"))
        return CAIRN_ORIGIN_LIBRARY;
    if (behind_packages(file).data)
        return CAIRN_ORIGIN_LIBRARY;
    below = behind_stdlib(file);
    if (!below.data)
        return CAIRN_ORIGIN_USER;
    return is_importlib(below) ? CAIRN_ORIGIN_IMPORT : CAIRN_ORIGIN_STDLIB;
}

struct cairn_span cairn_file_of(struct cairn_span path)
{
    for (size_t at = path.size_bytes; at > 0; at--)
        if (path.data[at - 1] == '/')
            return behind(path, at);
    return path;
}

/* The part that becomes a module's name: below a library folder all of it, else the last part,
 * and the folder's name for a package's own file. */
static struct cairn_span module_path(struct cairn_span file)
{
    struct cairn_span below = behind_packages(file);
    struct cairn_span last = cairn_file_of(file);

    if (!below.data)
        below = behind_stdlib(file);
    if (below.data)
        return below;
    if (ends(last, "__init__.py") && last.size_bytes < file.size_bytes) {
        struct cairn_span folder = {file.data, file.size_bytes - last.size_bytes - 1};

        return behind(file, folder.size_bytes - cairn_file_of(folder).size_bytes);
    }
    return last;
}

int cairn_module_of(struct cairn_buf *out, struct cairn_span file)
{
    struct cairn_span path;

    if (starts(file, "<frozen ") && ends(file, ">")) {
        size_t head_bytes = strlen("<frozen ");

        return cairn_buf_add(out, file.data + head_bytes, file.size_bytes - head_bytes - 1);
    }
    if (starts(file, "<"))
        return cairn_buf_add(out, file.data, file.size_bytes);
    path = module_path(file);
    if (ends(path, ".py"))
        path.size_bytes -= strlen(".py");
    if (ends(path, "/__init__"))
        path.size_bytes -= strlen("/__init__");
    for (size_t i = 0; i < path.size_bytes; i++)
        cairn_buf_u8(out, path.data[i] == '/' ? '.' : path.data[i]);
    return out->code;
}
