/* What the threads of a program share, and where they wait for each other. Pieces named threaded_X stand in for X in
   programs of several threads. */

//: threads | stop
static _Thread_local int thread; /* its number */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static inline void lock(void) { pthread_mutex_lock(&mutex); }
static inline void unlock(void) { pthread_mutex_unlock(&mutex); }
static inline void wait_for_others(void) { pthread_cond_wait(&changed, &mutex); }

static inline void wake_others(void) {
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

//: threaded_comms | base threads
static char there[COMMS] = {[NONE] = 1}; /* whether a communicator was made */

static void publish(int comm) {
    lock();
    there[comm] = 1;
    wake_others();
}

static void adopt(int comm, MPI_Comm handle) {
    if (comm == NONE) return;
    comms[comm] = handle;
    int inter = 0;
    MPI_Comm_test_inter(handle, &inter);
    MPI_Comm_rank(handle, &own[comm]);
    if (inter)
        MPI_Comm_remote_size(handle, &size[comm]);
    else
        MPI_Comm_size(handle, &size[comm]);
    publish(comm);
}

//: shared_comms | threads comms turn ncalls
/* How a call uses a communicator: it takes its turn among the collective calls of all threads; it is no collective
   call; it is the last call; it only names it. */
enum how { TURN, USE, FREE, NAME };

static long nturns[COMMS], nended[COMMS];

static void begin(int comm, enum how how) {
    lock();
    while (!there[comm] || ((how == TURN || how == FREE) && turn(comm, nturns[comm]) != thread) ||
           (how == FREE && nended[comm] < ncalls(comm)))
        wait_for_others();
    unlock();
}

static void end(int comm, enum how how) {
    lock();
    nturns[comm] += how == TURN || how == FREE;
    nended[comm] += how == TURN || how == USE;
    wake_others();
}

/* Makes a call on a communicator that several threads use, after those that come first. */
#define SHARED(comm, how, call)                                                                                        \
    do {                                                                                                               \
        begin(comm, how);                                                                                              \
        call;                                                                                                          \
        end(comm, how);                                                                                                \
    } while (0)

//: turn |
static int turn(int comm, long i); /* the thread of the i-th collective call on a communicator */

//: ncalls |
static long ncalls(int comm); /* on a communicator, without the one that frees it */

//: uses |
static int uses_of(int kind, int of); /* which sequence of uses objects have: of a thread or communicator; -1: none */
static long nuses(int uses);          /* the length of a sequence */
static long use(int uses, long i);    /* its i-th number */

//: objects | threads base uses
enum { REQUEST, WINDOW, FILES };

/* Uses of an object: 2 * thread; and one more for calls that may overlap with others. Those make a group. */
struct order {
    int uses;
    long number, first, n, next; /* of the object; its first use, how many there are, and the next one */
    int running, left;           /* uses that have begun; those of the group that have not */
    int group[THREADS];          /* these by thread */
};

static struct order *orders;
static long norders;

static void find_group(struct order *o) {
    for (; o->next < o->n; o->next++, o->left++) {
        long one = use(o->uses, o->first + o->next);
        if (one % 2 == 0) break;
        o->group[one / 2]++;
    }
}

/* Each object has in its sequence: the objects between it and the one before, the number of its uses, and these. */
static void read_orders(int uses, struct order *into) {
    norders = 0;
    for (int k = 0; k < uses; k++) {
        long number = -1, n;
        for (long i = 0; i < nuses(k); i += 2 + n) {
            number += 1 + use(k, i);
            n = use(k, i + 1);
            if (into) {
                into[norders] = (struct order){.uses = k, .number = number, .first = i + 2, .n = n};
                find_group(&into[norders]);
            }
            norders++;
        }
    }
}

static void make_orders(int uses) {
    read_orders(uses, NULL);
    orders = memory((size_t)norders * sizeof *orders);
    read_orders(uses, orders);
}

/* The order of an object; NULL: one thread uses it. */
static struct order *order_of(int kind, int of, long number) {
    int uses = uses_of(kind, of);
    long low = 0, high = uses < 0 ? 0 : norders;
    while (low < high) {
        long middle = low + (high - low) / 2;
        struct order *o = &orders[middle];
        if (o->uses == uses && o->number == number) return o;
        if (o->uses < uses || (o->uses == uses && o->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int is_next(const struct order *o) {
    return o->group[thread] ||
           (!o->running && !o->left && o->next < o->n && use(o->uses, o->first + o->next) == 2 * thread);
}

static void begin_use(struct order *o) {
    if (!o) return;
    lock();
    while (!is_next(o)) wait_for_others();
    if (o->group[thread])
        o->group[thread]--, o->left--;
    else
        o->next++;
    o->running++;
    unlock();
}

static void end_use(struct order *o) {
    if (!o) return;
    lock();
    if (!--o->running && !o->left) find_group(o);
    wake_others();
}

//: object | objects
/* Makes a call on a window or file that several threads use, after the uses that come first. */
#define OBJECT(kind, comm, number, call)                                                                               \
    do {                                                                                                               \
        struct order *order = order_of(kind, comm, number);                                                            \
        begin_use(order);                                                                                              \
        call;                                                                                                          \
        end_use(order);                                                                                                \
    } while (0)

//: foreign | threads
/* The name of what another thread made: (thread + 1) * OTHERS + OTHERS / 2 + its number relative to the one after that
   which was named before. */
#define OTHERS ((long)1 << 40)

static int maker_of(long name, long *next, long *number) {
    int of = (int)(name / OTHERS) - 1;
    if (of < 0 || of >= THREADS) stop("a name of no thread");
    *number = next[of] + name % OTHERS - OTHERS / 2;
    next[of] = *number + 1;
    return of;
}

//: threaded_requests | base taken objects
/* A request, which is there for all threads from the end of the call that makes it to the end of the one that ends it. */
struct live {
    MPI_Request handle;
    int persistent, gone, ended; /* ended: by another thread */
    struct room *rooms;
    int maker, family; /* the thread that made it; the communicator that it makes */
    long number;       /* among the requests of this thread */
    struct live *next; /* with the same remainder of the number */
};

enum { REMAINDERS = 1024 };
static struct live *made_by[THREADS][REMAINDERS];
static long nmade[THREADS];

/* Those of this thread, oldest first. One is named by its age: how many are younger. */
static _Thread_local struct live **lives, *fresh;
static _Thread_local int alive, room_for;
/* Requests that the call names, and objects that it has begun to use. */
static _Thread_local struct live **named;
static _Thread_local struct order **in_use;
static _Thread_local int nnamed, nin_use, room_for_named;

static MPI_Request *request(int persistent) {
    int gone = 0;
    lock();
    while (gone < alive && lives[gone]->ended) free(lives[gone++]);
    unlock();
    if (gone) memmove(lives, lives + gone, (size_t)(alive -= gone) * sizeof *lives);
    if (alive == room_for) {
        lives = realloc(lives, (size_t)(room_for = room_for ? 2 * room_for : 64) * sizeof *lives);
        if (!lives) stop("out of memory");
    }
    fresh = memory(sizeof *fresh);
    fresh->persistent = persistent;
    fresh->maker = thread;
    fresh->handle = MPI_REQUEST_NULL;
    fresh->family = -1;
    fresh->rooms = taken;
    taken = NULL;
    lives[alive++] = fresh;
    return &fresh->handle;
}

/* After a call: other threads find the request that it made, and may use those that it named. */
static void hand_over(void) {
    for (int i = 0; i < nin_use; i++) end_use(in_use[i]);
    nin_use = nnamed = 0;
    if (!fresh) return;
    lock();
    fresh->number = nmade[thread]++;
    struct live **first = &made_by[thread][fresh->number % REMAINDERS];
    fresh->next = *first;
    *first = fresh;
    wake_others();
    fresh = NULL;
}

//: threaded_ended | requests comms give_back
static void forget(struct live *r) {
    struct live **at = &made_by[r->maker][r->number % REMAINDERS];
    while (*at != r) at = &(*at)->next;
    *at = r->next;
}

/* Ends the requests that the call has completed. */
static void ended(void) {
    for (int i = 0; i < nnamed; i++) {
        struct live *r = named[i];
        if (!r->gone) continue;
        give_back(r->rooms);
        r->rooms = NULL;
        if (r->family >= 0) publish(r->family);
        lock();
        forget(r);
        r->ended = r->maker != thread;
        unlock();
        if (r->ended) continue;
        int at = alive - 1;
        while (lives[at] != r) at--;
        memmove(lives + at, lives + at + 1, (size_t)(--alive - at) * sizeof *lives);
        free(r);
    }
    nnamed = 0;
}

//: threaded_of_age | requests foreign
static struct live *of_other(long name) {
    static _Thread_local long next[THREADS];
    long number;
    int of = maker_of(name, next, &number);
    lock();
    while (nmade[of] <= number) wait_for_others();
    struct live *r = made_by[of][number % REMAINDERS];
    while (r && r->number != number) r = r->next;
    unlock();
    if (!r) stop("a request of another thread that has ended");
    return r;
}

static struct live *of_age(long age) {
    static _Thread_local struct live none;
    struct live *r = &none;
    if (age == MPI_UNDEFINED) {
        none.handle = MPI_REQUEST_NULL;
        none.persistent = 1;
    } else if (age >= OTHERS)
        r = of_other(age);
    else {
        if (age < 0 || age >= alive) stop("a request that is not there");
        r = lives[alive - 1 - age];
    }
    if (nnamed == room_for_named) {
        room_for_named = room_for_named ? 2 * room_for_named : 16;
        named = realloc(named, (size_t)room_for_named * sizeof *named);
        in_use = realloc(in_use, (size_t)room_for_named * sizeof *in_use);
        if (!named || !in_use) stop("out of memory");
    }
    named[nnamed++] = r;
    if (r != &none) {
        begin_use(in_use[nin_use] = order_of(REQUEST, r->maker, r->number));
        nin_use += in_use[nin_use] != NULL;
    }
    return r;
}

//: threaded_gather | of_age arrays element
static _Thread_local MPI_Request *handles; /* of the requests that a call is given */
static _Thread_local MPI_Status *statuses; /* Open MPI may lose an error of a request without them */

/* Two arrays in turns: calls on one array, one after the other, a tracer may take for one loop. */
static int gather(int ages) {
    static _Thread_local MPI_Request *others;
    static _Thread_local int most;
    int n = arrays[ages].n;
    if (n > most) {
        free(handles);
        free(others);
        free(statuses);
        statuses = memory((size_t)n * sizeof *statuses);
        handles = memory((size_t)(most = n) * sizeof *handles);
        others = memory((size_t)n * sizeof *others);
    }
    MPI_Request *before = handles;
    handles = others;
    others = before;
    for (int i = 0; i < n; i++) handles[i] = of_age(element(ages, i))->handle;
    return n;
}

//: threaded_is_persistent | gather
static int is_persistent(int ages, int i) {
    (void)ages;
    return named[i]->persistent;
}

//: threaded_scatter | gather ended
static void scatter(int ages, int done) {
    for (int i = 0; i < arrays[ages].n; i++) {
        named[i]->handle = handles[i];
        if (done && !named[i]->persistent) named[i]->gone = 1;
    }
    if (done) ended();
}

//: threaded_one_done | one_of ended
/* Where an MPI took another one nevertheless, the two change names. */
static void one_done(int ages, int wanted, int index) {
    (void)ages;
    if (wanted == MPI_UNDEFINED || index == MPI_UNDEFINED) return;
    struct live *r = named[index], *place = named[wanted];
    r->handle = handles[index];
    if (place != r) {
        struct live other = *place;
        place->handle = r->handle, place->persistent = r->persistent, place->rooms = r->rooms;
        r->handle = other.handle, r->persistent = other.persistent, r->rooms = other.rooms;
    }
    place->gone = !place->persistent;
    ended();
}

//: threaded_Parrived | tally of_age
static void $op(long age, int partition) {
    MPI_Request handle = of_age(age)->handle;
    int flag = 0;
    POLL($op, MPI_$op(handle, partition, &flag));
}

//: threaded_messages | base threads
/* A matched message and its bytes. */
struct matched {
    MPI_Message handle;
    MPI_Count bytes;
};

/* The messages that each thread matched, oldest first. */
static struct kept {
    struct matched found;
    long number;
    int ended; /* by another thread */
} *messages[THREADS];
static int waiting[THREADS], message_room[THREADS];
static long nmatched[THREADS];

static void take_out(int of, int at) {
    struct kept *first = messages[of] + at;
    memmove(first, first + 1, (size_t)(--waiting[of] - at) * sizeof *first);
}

//: threaded_message | messages
static void message(MPI_Message handle, MPI_Status *status) {
    struct kept fresh = {.found = {handle, 0}};
    PMPI_Get_elements_x(status, MPI_BYTE, &fresh.found.bytes);
    lock();
    while (waiting[thread] && messages[thread]->ended) take_out(thread, 0);
    if (waiting[thread] == message_room[thread]) {
        message_room[thread] = message_room[thread] ? 2 * message_room[thread] : 16;
        messages[thread] = realloc(messages[thread], (size_t)message_room[thread] * sizeof fresh);
        if (!messages[thread]) stop("out of memory");
    }
    fresh.number = nmatched[thread]++;
    messages[thread][waiting[thread]++] = fresh;
    wake_others();
}

//: threaded_matched | messages foreign
static struct matched matched(long age) {
    static _Thread_local long next[THREADS];
    struct matched found = {MPI_MESSAGE_NO_PROC, 0};
    long number;
    if (age == MPI_PROC_NULL) return found;
    int of = age >= OTHERS ? maker_of(age, next, &number) : thread, at;
    lock();
    if (of != thread) {
        while (nmatched[of] <= number) wait_for_others();
        for (at = waiting[of] - 1; at >= 0 && messages[of][at].number != number;) at--;
    } else
        at = waiting[of] - 1 - (int)age;
    if (at < 0 || at >= waiting[of]) stop("a matched message that is not there");
    found = messages[of][at].found;
    if (of != thread)
        messages[of][at].ended = 1;
    else
        take_out(of, at);
    unlock();
    return found;
}

//: threaded_windows | base rooms threads
/* A window is named by its number among those of its communicator. */
static struct window {
    int number, comm;
    MPI_Win handle;
    struct room *results; /* what MPI fills until some later synchronisation */
    struct window *next;
} *windows;

static struct window *new_window(int number, int comm) {
    struct window *w = memory(sizeof *w);
    w->number = number;
    w->comm = comm;
    lock();
    w->next = windows;
    windows = w;
    unlock();
    return w;
}

static struct window *window(int number, int comm) {
    lock();
    struct window *w = windows;
    while (w && (w->number != number || w->comm != comm)) w = w->next;
    unlock();
    if (!w) stop("a window that was not made");
    return w;
}

//: threaded_files | base rooms threads
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
    lock();
    struct file *f = files;
    while (f && (f->number != number || f->comm != comm)) f = f->next;
    unlock();
    if (!f) stop("a file that was not opened");
    return f;
}

//: run_threads | threads tally
static void benchmark(void);

static struct tally *other_tallies; /* of threads that have ended */
static int nended_threads;

/* A tracer gives the number of a thread that has ended to the next one: none ends before all have made their calls. */
static void end_with_others(void) {
    lock();
    nended_threads++;
    pthread_cond_broadcast(&changed);
    while (nended_threads < THREADS) wait_for_others();
    unlock();
}

static void *run(void *number) {
    thread = (int)(intptr_t)number;
    $setup;
    last = now();
    benchmark();
    lock();
    for (struct tally *t = tallies; t; t = t->next) {
        struct tally *copy = memory(sizeof *copy);
        *copy = *t;
        copy->next = other_tallies;
        other_tallies = copy;
    }
    unlock();
    end_with_others();
    return NULL;
}

/* Runs all threads, the first one in this thread. */
static void run_threads(void) {
    pthread_t others[THREADS];
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&others[i], NULL, run, (void *)(intptr_t)i)) stop("cannot start a thread");
    benchmark();
    end_with_others();
    for (int i = 1; i < THREADS; i++) pthread_join(others[i], NULL);
    struct tally **end = &tallies;
    while (*end) end = &(*end)->next;
    *end = other_tallies;
}
