/* callback_kinds.c KIND [LIBRARY] - functions of the program that MPI or the loader calls, and that call MPI themselves. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kinds.h"

static int ncalls;
static const char *library;

static int reduce(MPI_Comm comm, MPI_Op op) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, comm);
    return sum;
}

/* -- operators --------------------------------------------------------------------------------------------------- */

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    int bytes = 0, flag = 0;
    MPI_Type_size(*type, &bytes);
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static int operators(void) {
    MPI_Op op;
    int sum = 0;
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < 50; i++) sum += reduce(MPI_COMM_WORLD, op);
    MPI_Op_free(&op);
    return sum;
}

/* -- attributes --------------------------------------------------------------------------------------------------- */

static int copy_attribute(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag) {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_SELF, &own); /* which has no attribute */
    ncalls += reduce(own, MPI_SUM);
    MPI_Comm_free(&own);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
    MPI_Barrier(comm); /* all ranks free it */
    ncalls++;
    return MPI_SUCCESS;
}

static int attributes(void) {
    MPI_Comm copies[5];
    int key;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key);
    for (int i = 0; i < 5; i++) MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    for (int i = 0; i < 5; i++) MPI_Comm_free(&copies[i]);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    return ncalls;
}

/* Deleted by MPI_Finalize, which calls the function first of all. */
static int attribute_of_self(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    return reduce(MPI_COMM_WORLD, MPI_SUM);
}

/* -- generalized requests -------------------------------------------------------------------------------------------- */

static int query(void *extra, MPI_Status *status) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int free_request(void *extra) {
    ncalls++;
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) { return MPI_SUCCESS; }

static void *complete(void *request) {
    usleep(2000);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static int requests(void) {
    for (int i = 0; i < 20; i++) {
        MPI_Request request, copy;
        pthread_t thread;
        int done = 0;
        MPI_Grequest_start(query, free_request, cancel, NULL, &request);
        copy = request;
        pthread_create(&thread, NULL, complete, &copy);
        if (i % 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
        while (!(i % 2) && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
    }
    return ncalls + reduce(MPI_COMM_WORLD, MPI_SUM);
}

/* -- error handlers ------------------------------------------------------------------------------------------------- */

static jmp_buf back;

static void call_in_handler(MPI_Comm *comm, int *error, ...) {
    char text[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(*error, text, &n);
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    ncalls++;
}

static void jump_in_handler(MPI_Comm *comm, int *error, ...) {
    ncalls++;
    longjmp(back, 1);
}

static void cause_errors(void (*handle)(MPI_Comm *, int *, ...), int n) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile int i = 0; i < n; i++)
        if (!setjmp(back)) MPI_Send(&i, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    MPI_Errhandler_free(&handler);
}

static int error_handler(void) {
    cause_errors(call_in_handler, 5);
    return ncalls + reduce(MPI_COMM_WORLD, MPI_SUM);
}

/* Only one rank leaves a call by longjmp. */
static int error_jump(void) {
    cause_errors(jump_in_handler, rank == 0 ? 5 : 0);
    return ncalls + reduce(MPI_COMM_WORLD, MPI_SUM);
}

/* -- libraries ------------------------------------------------------------------------------------------------------ */

static int open_and_close(void) {
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        void *opened = dlopen(library, RTLD_NOW);
        int (*count)(void) = opened ? (int (*)(void))dlsym(opened, "count_ranks") : NULL;
        if (!count) return -1;
        sum += count();
        dlclose(opened);
    }
    return sum;
}

/* A thread opens and closes a library while the main thread calls MPI. */
static void *reopen(void *unused) {
    for (int i = 0; i < 200; i++) {
        void *opened = dlopen(library, RTLD_NOW);
        if (opened) dlclose(opened);
    }
    return unused;
}

static int open_in_thread(void) {
    pthread_t thread;
    int sum = 0;
    pthread_create(&thread, NULL, reopen, NULL);
    for (int i = 0; i < 200; i++) sum += reduce(MPI_COMM_WORLD, MPI_SUM);
    pthread_join(thread, NULL);
    return sum;
}

/* The constructor waits for a thread that calls MPI, and count_ranks is called at another place than in this thread. */
static int open_with_waiting_constructor(void) {
    setenv("OPEN_WAITS", "1", 1);
    return open_and_close();
}

static const struct kind kinds[] = {
    {"operators", operators, MPI_THREAD_SINGLE},
    {"attributes", attributes, MPI_THREAD_SINGLE},
    {"attribute_of_self", attribute_of_self, MPI_THREAD_SINGLE},
    {"requests", requests, MPI_THREAD_MULTIPLE},
    {"error_handler", error_handler, MPI_THREAD_SINGLE},
    {"error_jump", error_jump, MPI_THREAD_SINGLE},
    {"dlopen", open_and_close, MPI_THREAD_SINGLE},
    {"dlopen_thread", open_in_thread, MPI_THREAD_SINGLE},
    {"dlopen_waits", open_with_waiting_constructor, MPI_THREAD_MULTIPLE},
};

int main(int argc, char **argv) {
    library = argc > 2 ? argv[2] : "";
    const struct kind *kind = start_kind(kinds, sizeof kinds / sizeof *kinds, argc, argv);
    if (!kind) return 2;
    if (provided < kind->level) return 77;
    printf("rank %d: %d\n", rank, kind->run());
    MPI_Finalize();
    return 0;
}
