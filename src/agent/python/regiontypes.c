/* regiontypes.c: regions and marks, as a program writes them down. Under the GIL.
 *
 * A region without a recorder is to cost next to nothing: then region() hands out one object a
 * name, again and again, and `with` finds both its hooks made. While something records, each
 * region() is an object of its own, so that tasks which take turns do not end one another's.
 */
#include "regiontypes.h"

#include <stdbool.h>
#include <string.h>

#include "finder.h"
#include "markvalues.h"
#include "regions.h"

#define MOST_NAMES 10000 /* that are kept; others are made anew each time */
#define MOST_NAME 256    /* characters of one that is kept */
#define QUICK_NAMES 64   /* of those that are kept, to be found by the address of the name */
#define FEW_VALUES 8     /* of a mark, that need no memory */
#define KEPT_ENTRIES 16  /* without a recorder each 16th entry of a kept object looks for one */
#define QUICK_CALLS 4    /* and each fourth region(), where so many are made within */
#define QUICK_TICKS (CAIRN_FINDER_TICKS / 1024)

struct opened {
    struct cairn_region region;
    const void *thread;    /* that entered */
    struct opened *before; /* of an object that was entered again before it was left */
};

struct region {
    PyObject_HEAD PyObject *name;
    PyObject *hooks[2];  /* of one that is kept: what `with` calls; NULL: not made yet */
    struct region *kept; /* the one of that name; NULL: it is this, or there is none */
    uint64_t number;     /* of its name in the file; 0: not known yet */
    uint32_t file;
    uint32_t depth;  /* how often it was entered and not left, while something recorded */
    uint32_t unseen; /* and while nothing did */
    struct opened open;
};

struct hook { /* what `with` looks up in the type */
    PyObject_HEAD bool leaves;
};

struct source { /* of an interpreter's: what region() and mark() are bound to */
    PyObject_HEAD PyObject *regions; /* those that are kept, by name */
    PyTypeObject *type;
    struct region *quick[QUICK_NAMES]; /* borrowed from those; NULL: none */
};

static struct cairn_finder finder; /* of the process */
static struct cairn_regions *const regions = &finder.regions;
static __thread char here __attribute__((tls_model("initial-exec"))); /* its address: the thread */
static unsigned entered; /* by any interpreter: it need not be exact, nor need the next two */
static volatile unsigned passed_over;
static int64_t counter_read; /* ticks */

/* --- regions --- */

static uint64_t number_of(struct region *region)
{
    struct region *of = region->kept != NULL ? region->kept : region;
    uint32_t file = cairn_regions_file(regions);

    if (__builtin_expect(of->file != file || of->number == 0, 0)) {
        of->number = cairn_regions_name(regions, cairn_span_of(of->name));
        of->file = file;
    }
    return of->number;
}

/* By its beginning, which is read anyway, it is told whether the recorder is to be asked for. */
static struct cairn_region begin(struct region *region)
{
    struct cairn_region opened = cairn_regions_begin(regions, number_of(region));

    if (__builtin_expect(cairn_finder_is_due(&finder, opened.start), 0) &&
        cairn_finder_look(&finder) && cairn_regions_file(regions) != opened.file)
        opened = cairn_regions_begin(regions, number_of(region)); /* for the next one */
    return opened;
}

static inline bool is_to_enter(void)
{
    return cairn_finder_was_on(&finder) ||
           ((++entered % KEPT_ENTRIES == 0 || cairn_finder_is_new(&finder)) &&
            cairn_finder_is_on(&finder));
}

static PyObject *region_enter(PyObject *self, PyObject *unused)
{
    struct region *region = (struct region *)self;

    (void)unused;
    if (is_to_enter()) {
        if (region->depth > 0) {
            struct opened *opened = PyMem_Malloc(sizeof(*opened));

            if (opened == NULL)
                return PyErr_NoMemory();
            *opened = region->open;
            region->open.before = opened;
        }
        region->open.region = begin(region);
        region->open.thread = &here;
        region->depth++;
    } else {
        region->unseen++;
    }
    Py_INCREF(self);
    return self;
}

/* The one before takes its place: the newest lies in the region itself. */
static void forget(struct region *region, struct opened *opened)
{
    struct opened *before = opened->before, *after = &region->open;

    if (before != NULL) {
        *opened = *before;
        PyMem_Free(before);
    } else if (opened != &region->open) {
        while (after->before != opened)
            after = after->before;
        after->before = NULL;
        PyMem_Free(opened);
    }
}

/* The one that this thread leaves: the newest that it entered. Of others it leaves the newest,
 * where it cannot have entered while nothing recorded: a generator may go on in another thread. */
static struct opened *opened_here(struct region *region)
{
    struct opened *opened = &region->open;

    while (opened != NULL && opened->thread != &here)
        opened = opened->before;
    return opened == NULL && region->unseen == 0 ? &region->open : opened;
}

static void leave(struct region *region)
{
    struct opened *opened = region->depth == 0 ? NULL : opened_here(region);

    if (opened == NULL) {
        region->unseen -= region->unseen > 0;
        return;
    }
    cairn_regions_end(regions, &opened->region);
    forget(region, opened);
    region->depth--;
}

static PyObject *region_leave(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args, (void)count;
    leave((struct region *)self);
    Py_RETURN_NONE;
}

static PyMethodDef hook_defs[2] = {
    {"__enter__", region_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))region_leave, METH_FASTCALL, NULL},
};

static void region_dealloc(PyObject *self)
{
    struct region *region = (struct region *)self;
    PyTypeObject *type = Py_TYPE(self);

    while (region->open.before != NULL)
        forget(region, &region->open);
    Py_XDECREF(region->name);
    if (region->kept != region)
        Py_XDECREF(region->kept);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *region_repr(PyObject *self)
{
    return PyUnicode_FromFormat("cairn.region(%R)", ((struct region *)self)->name);
}

static PyType_Slot region_slots[] = {
    {Py_tp_doc, (void *)"What cairn.region() returns: a context manager."},
    {Py_tp_dealloc, region_dealloc},
    {Py_tp_repr, region_repr},
    {0, NULL},
};

static PyType_Spec region_spec = {
    .name = "cairn.Region",
    .basicsize = sizeof(struct region),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = region_slots,
};

/* --- for timed functions --- */

bool cairn_region_recorded(void)
{
    return cairn_finder_is_on(&finder);
}

struct cairn_region cairn_region_open(PyObject *region)
{
    return begin((struct region *)region);
}

void cairn_region_close(const struct cairn_region *opened)
{
    cairn_regions_end(regions, opened);
}

/* --- what `with` finds in the type --- */

/* False with an exception set. */
static bool is_region(PyObject *object)
{
    if (object != NULL && Py_TYPE(object)->tp_dealloc == region_dealloc)
        return true;
    PyErr_SetString(PyExc_TypeError, "it takes what cairn.region() returned");
    return false;
}

/* One that is kept lasts as long as its interpreter, so its hooks may hold it. */
static PyObject *hook_get(PyObject *self, PyObject *object, PyObject *type)
{
    bool leaves = ((struct hook *)self)->leaves;
    struct region *region = (struct region *)object;
    PyObject *hook;

    (void)type;
    if (object == NULL) {
        Py_INCREF(self);
        return self;
    }
    if (!is_region(object))
        return NULL;
    hook = region->hooks[leaves];
    if (hook != NULL) {
        Py_INCREF(hook);
        return hook;
    }
    hook = PyCFunction_New(&hook_defs[leaves], object);
    if (hook != NULL && region->kept == region) {
        Py_INCREF(hook);
        region->hooks[leaves] = hook;
    }
    return hook;
}

/* type(region).__enter__(region), as contextlib.ExitStack has it. */
static PyObject *hook_call(PyObject *self, PyObject *args, PyObject *named)
{
    bool leaves = ((struct hook *)self)->leaves;
    PyObject *object = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;

    if (!is_region(named == NULL ? object : NULL))
        return NULL;
    return leaves ? region_leave(object, NULL, 0) : region_enter(object, NULL);
}

static void plain_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot hook_slots[] = {
    {Py_tp_dealloc, plain_dealloc},
    {Py_tp_descr_get, hook_get},
    {Py_tp_call, hook_call},
    {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "cairn.Hook",
    .basicsize = sizeof(struct hook),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = hook_slots,
};

/* --- region() and mark() --- */

static struct region *new_region(PyTypeObject *type, PyObject *name)
{
    struct region *region = PyObject_New(struct region, type);

    if (region == NULL)
        return NULL;
    memset((char *)region + sizeof(PyObject), 0, sizeof(*region) - sizeof(PyObject));
    Py_INCREF(name);
    region->name = name;
    return region;
}

/* A new reference to the one of that name: kept, or made where too many are or it is long. Of names
 * that compare by code of the program none is kept. */
static struct region *find_region(struct source *source, PyObject *name)
{
    bool keeps = source->regions != NULL && PyUnicode_CheckExact(name) &&
                 PyUnicode_GET_LENGTH(name) <= MOST_NAME;
    PyObject *kept = keeps ? PyDict_GetItemWithError(source->regions, name) : NULL;
    struct region *region;

    if (kept != NULL) {
        Py_INCREF(kept);
        return (struct region *)kept;
    }
    if (PyErr_Occurred())
        return NULL;
    region = new_region(source->type, name);
    if (region == NULL || !keeps || PyDict_GET_SIZE(source->regions) >= MOST_NAMES)
        return region;
    if (PyDict_SetItem(source->regions, name, (PyObject *)region) < 0) {
        Py_DECREF(region);
        return NULL;
    }
    region->kept = region;
    return region;
}

/* Without a recorder reading the counter is what costs most of it. */
static inline bool is_to_make(void)
{
    unsigned left = passed_over; /* read once: another interpreter may count it down as well */
    int64_t now;

    if (cairn_finder_was_on(&finder))
        return true;
    if (left > 0 && !cairn_finder_is_new(&finder)) {
        passed_over = left - 1;
        return false;
    }
    now = cairn_ticks_now();
    if ((uint64_t)now - (uint64_t)counter_read < QUICK_TICKS)
        passed_over = QUICK_CALLS - 1;
    counter_read = now;
    return cairn_finder_is_due(&finder, now) && cairn_finder_look(&finder);
}

/* As find_region. The same literal is the same object wherever it stands, and one that is kept
 * keeps its name: the address tells. */
static struct region *region_of(struct source *source, PyObject *name)
{
    struct region **quick = &source->quick[(uintptr_t)name / sizeof(PyObject) % QUICK_NAMES];
    struct region *region = *quick;

    if (__builtin_expect(region != NULL && region->name == name, 1)) {
        Py_INCREF(region);
        return region;
    }
    region = find_region(source, name);
    if (region != NULL && region->kept == region && region->name == name)
        *quick = region;
    return region;
}

static PyObject *source_region(PyObject *self, PyObject *name)
{
    struct source *source = (struct source *)self;
    struct region *kept, *region;

    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a region's name is a str, not %.200s",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    kept = region_of(source, name);
    if (kept == NULL || kept->kept == NULL || !is_to_make())
        return (PyObject *)kept;
    region = new_region(source->type, name);
    if (region == NULL) {
        Py_DECREF(kept);
        return NULL;
    }
    region->kept = kept;
    return (PyObject *)region;
}

static uint64_t text_number(PyObject *text)
{
    return cairn_regions_name(regions, cairn_span_of(text));
}

/* The number of a name in the file, 0 where there is no room; no code of the program is run. */
static uint64_t name_number(struct source *source, PyObject *name)
{
    struct region *region;
    uint64_t number;

    if (!PyUnicode_CheckExact(name))
        return text_number(name);
    region = region_of(source, name);
    if (region == NULL) {
        PyErr_Clear();
        return text_number(name);
    }
    number = number_of(region);
    Py_DECREF(region);
    return number;
}

/* str() may run anything, other marks as well: so first all is converted, then all is put. */
static int put_mark(struct source *source, PyObject *what, PyObject *names, PyObject *const *from,
                    struct cairn_region_value *values, Py_ssize_t count)
{
    uint64_t number;

    if (cairn_values_convert(from, values, count) < 0)
        return -1;
    number = name_number(source, what);
    for (Py_ssize_t i = 0; i < count; i++)
        values[i].name = name_number(source, PyTuple_GET_ITEM(names, i));
    cairn_values_number(regions, values, count);
    cairn_regions_mark(regions, number, values, (size_t)count);
    return 0;
}

/* Also whether the recorder that was there still is. */
static bool is_on_now(void)
{
    return cairn_finder_is_on(&finder) &&
           (!cairn_finder_is_due(&finder, cairn_ticks_now()) || cairn_finder_look(&finder));
}

static PyObject *source_mark(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    struct source *source = (struct source *)self;
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    struct cairn_region_value few[FEW_VALUES], *values = few;
    PyObject *what;
    int code;

    if (count > 1 || (count == 1 && !PyUnicode_Check(args[0]))) {
        PyErr_SetString(PyExc_TypeError, "mark() takes a name, a str, and values by their names");
        return NULL;
    }
    if (!is_on_now())
        Py_RETURN_NONE;
    if (named > FEW_VALUES)
        values = PyMem_New(struct cairn_region_value, named);
    if (values == NULL)
        return PyErr_NoMemory();
    what = count == 1 ? args[0] : PyUnicode_InternFromString("mark");
    code = what == NULL ? -1 : put_mark(source, what, names, args + count, values, named);
    if (count == 0)
        Py_XDECREF(what);
    if (values != few)
        PyMem_Free(values);
    if (code < 0)
        return NULL;
    Py_RETURN_NONE;
}

static void source_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((struct source *)self)->regions);
    Py_XDECREF(((struct source *)self)->type);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *cairn_region_kept(PyObject *source, PyObject *name)
{
    if (Py_TYPE(source)->tp_dealloc != source_dealloc) {
        PyErr_SetString(PyExc_TypeError, "Timed() takes what regions come from");
        return NULL;
    }
    return (PyObject *)region_of((struct source *)source, name);
}

static PyMethodDef source_methods[] = {
    {"region", source_region, METH_O,
     "region(name)\n\nA context manager: what its block takes is a region of that name, where "
     "something records."},
    {"mark", (PyCFunction)(void (*)(void))source_mark, METH_FASTCALL | METH_KEYWORDS,
     "mark(name='mark', /, **values)\n\nA moment, with values, where something records."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot source_slots[] = {
    {Py_tp_dealloc, source_dealloc},
    {Py_tp_methods, source_methods},
    {0, NULL},
};

static PyType_Spec source_spec = {
    .name = "cairn.Regions",
    .basicsize = sizeof(struct source),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = source_slots,
};

/* --- all of it --- */

/* A type whose objects are made here alone. */
static PyObject *make_type(PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);

    if (type != NULL)
        ((PyTypeObject *)type)->tp_new = NULL;
    return type;
}

static int add_hooks(PyObject *type)
{
    PyObject *hook_type = make_type(&hook_spec);
    int code = hook_type == NULL ? -1 : 0;

    for (int leaves = 0; leaves < 2 && code == 0; leaves++) {
        struct hook *hook = PyObject_New(struct hook, (PyTypeObject *)hook_type);

        if (hook == NULL)
            code = -1;
        else
            hook->leaves = leaves;
        if (code == 0)
            code = PyObject_SetAttrString(type, hook_defs[leaves].ml_name, (PyObject *)hook);
        Py_XDECREF(hook);
    }
    Py_XDECREF(hook_type);
    return code;
}

static struct source *make_source(void)
{
    PyObject *type = make_type(&source_spec), *region_type = make_type(&region_spec);
    struct source *source = NULL;

    if (type != NULL && region_type != NULL && add_hooks(region_type) == 0)
        source = PyObject_New(struct source, (PyTypeObject *)type);
    Py_XDECREF(type);
    if (source == NULL) {
        Py_XDECREF(region_type);
        return NULL;
    }
    source->type = (PyTypeObject *)region_type;
    memset(source->quick, 0, sizeof(source->quick));
    source->regions = PyDict_New();
    if (source->regions == NULL)
        Py_CLEAR(source);
    return source;
}

/* Takes the reference, in any case. */
static int give(PyObject *module, const char *name, PyObject *what)
{
    int code = what == NULL ? -1 : PyObject_SetAttrString(module, name, what);

    Py_XDECREF(what);
    return code;
}

int cairn_regions_add(PyObject *module)
{
    PyObject *source = (PyObject *)make_source();
    int code = -1;

    if (source != NULL && give(module, "region", PyObject_GetAttrString(source, "region")) == 0 &&
        give(module, "mark", PyObject_GetAttrString(source, "mark")) == 0 &&
        PyObject_SetAttrString(module, "regions", source) == 0)
        code = give(module, "Timed", cairn_timed_type());
    Py_XDECREF(source);
    return code;
}
