//: files | base rooms
#include <sys/stat.h>

/* A file is named by its number among those of its communicator. */
static struct file {
    int number, comm;
    MPI_File handle;
    void *data; /* of a split collective that has begun */
    struct room *rooms;
    struct file *next;
} *files;

static struct file *file(int number, int comm) {
    for (struct file *f = files; f; f = f->next)
        if (f->number == number && f->comm == comm) return f;
    stop("a file that was not opened");
    return NULL;
}

//: File_open | tally comms files
/* Files lie in a folder of the benchmark's own; they are there, or not, as the application found them. */
static void $op(int comm, const char *name, int mode, int number) {
    struct file *f = memory(sizeof *f);
    f->number = number;
    f->comm = comm;
    $lock();
    f->next = files;
    files = f;
    $unlock();
    if (own[comm] == 0) {
        char folder[1024];
        const char *end = strrchr(name, '/');
        snprintf(folder, sizeof folder, "%.*s", end ? (int)(end - name) : 1, end ? name : ".");
        mkdir(folder, 0777);
        if (mode & MPI_MODE_EXCL)
            remove(name);
        else {
            FILE *there = fopen(name, "ab");
            if (!there) stop("cannot write to the folder for files");
            fclose(there);
        }
    }
    CALL($op, 0, MPI_$op(comms[comm], name, mode, MPI_INFO_NULL, &f->handle));
}

//: File_close | tally files
static void $op(int number, int comm) {
    struct file *f = file(number, comm), **at = &files;
    CALL($op, 0, MPI_$op(&f->handle));
    $lock();
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    $unlock();
    free(f);
}

//: File_set_view | tally files types
static void $op(int number, int comm, long disp, int etype, int filetype, const char *how) {
    CALL($op, 0,
         MPI_$op(file(number, comm)->handle, disp, types[etype].handle, types[filetype].handle, how, MPI_INFO_NULL));
}

//: File_seek File_seek_shared | tally files
static void $op(int number, int comm, long offset, int whence) {
    CALL($op, 0, MPI_$op(file(number, comm)->handle, offset, whence));
}

//: File_set_size File_preallocate | tally files
static void $op(int number, int comm, long n) { CALL($op, 0, MPI_$op(file(number, comm)->handle, n)); }

//: File_set_atomicity | tally files
static void $op(int number, int comm, int flag) { CALL($op, 0, MPI_$op(file(number, comm)->handle, flag)); }

//: File_sync | tally files
static void $op(int number, int comm) { CALL($op, 0, MPI_$op(file(number, comm)->handle)); }

//: File_write File_write_all File_write_shared File_write_ordered | tally files out bytes
static void $op(int number, int comm, $count count, int type) {
    const void *data = out(0, count, type);
    CALL($op, bytes(count, type),
         MPI_$op(file(number, comm)->handle, data, count, types[type].handle, MPI_STATUS_IGNORE));
}

//: File_read File_read_all File_read_shared File_read_ordered | tally files types room settle
static void $op(int number, int comm, $count count, int type) {
    void *data = room(0, count, type);
    CALL($op, 0, MPI_$op(file(number, comm)->handle, data, count, types[type].handle, MPI_STATUS_IGNORE));
    settle();
}

//: File_write_at File_write_at_all | tally files out bytes
static void $op(int number, int comm, long offset, $count count, int type) {
    const void *data = out(0, count, type);
    CALL($op, bytes(count, type),
         MPI_$op(file(number, comm)->handle, offset, data, count, types[type].handle, MPI_STATUS_IGNORE));
}

//: File_read_at File_read_at_all | tally files types room settle
static void $op(int number, int comm, long offset, $count count, int type) {
    void *data = room(0, count, type);
    CALL($op, 0, MPI_$op(file(number, comm)->handle, offset, data, count, types[type].handle, MPI_STATUS_IGNORE));
    settle();
}

//: File_iwrite File_iwrite_all File_iwrite_shared | tally files out bytes requests
static void $op(int number, int comm, $count count, int type) {
    const void *data = out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(file(number, comm)->handle, data, count, types[type].handle $after));
}

//: File_iread File_iread_all File_iread_shared | tally files types room requests
static void $op(int number, int comm, $count count, int type) {
    void *data = room(0, count, type);
    CALL($op, 0, MPI_$op(file(number, comm)->handle, data, count, types[type].handle $after));
}

//: File_iwrite_at File_iwrite_at_all | tally files out bytes requests
static void $op(int number, int comm, long offset, $count count, int type) {
    const void *data = out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(file(number, comm)->handle, offset, data, count, types[type].handle $after));
}

//: File_iread_at File_iread_at_all | tally files types room requests
static void $op(int number, int comm, long offset, $count count, int type) {
    void *data = room(0, count, type);
    CALL($op, 0, MPI_$op(file(number, comm)->handle, offset, data, count, types[type].handle $after));
}

//: File_write_all_begin File_write_ordered_begin | tally files out bytes
static void $op(int number, int comm, $count count, int type) {
    struct file *f = file(number, comm);
    f->data = out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(f->handle, f->data, count, types[type].handle));
}

//: File_write_at_all_begin | tally files out bytes
static void $op(int number, int comm, long offset, $count count, int type) {
    struct file *f = file(number, comm);
    f->data = out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(f->handle, offset, f->data, count, types[type].handle));
}

//: File_read_all_begin File_read_ordered_begin | tally files types room
static void $op(int number, int comm, $count count, int type) {
    struct file *f = file(number, comm);
    f->data = room(0, count, type);
    CALL($op, 0, MPI_$op(f->handle, f->data, count, types[type].handle));
    f->rooms = taken;
    taken = NULL;
}

//: File_read_at_all_begin | tally files types room
static void $op(int number, int comm, long offset, $count count, int type) {
    struct file *f = file(number, comm);
    f->data = room(0, count, type);
    CALL($op, 0, MPI_$op(f->handle, offset, f->data, count, types[type].handle));
    f->rooms = taken;
    taken = NULL;
}

//: File_write_all_end File_write_at_all_end File_write_ordered_end File_read_all_end File_read_at_all_end File_read_ordered_end | tally files give_back
static void $op(int number, int comm) {
    struct file *f = file(number, comm);
    CALL($op, 0, MPI_$op(f->handle, f->data, MPI_STATUS_IGNORE));
    give_back(f->rooms);
    f->rooms = NULL;
}
