/* selection.h - which calls are recorded, where not all are. Included by shim.h.
 *
 *   st_enter   by operation and time
 *   rec_X      by communicator, then by size: before the stack is walked
 *   st_begin   by call site
 *
 * Calls that make or free what later events refer to are always recorded; calls on requests, matched messages and split
 * collectives are recorded with the calls that made these. All others are skipped as if events were off, but counted, and
 * their time belongs to the computation before the next event.
 */
#ifndef ST_SELECTION_H
#define ST_SELECTION_H

enum st_role { ST_CHOSEN, ST_ALWAYS, ST_FOLLOWS }; /* as in rules.py */

struct st_selection {
    bool active, by_op, by_window, by_comm, by_size, by_site;
    int64_t min_bytes, max_bytes;
    uint64_t nskipped; /* calls that were not selected */
};
extern struct st_selection st_selection;
#define ST_SELECTING __builtin_expect(st_selection.active, 0)

void st_selection_start(void);
void st_selection_opened(void); /* MPI_Init ends: windows of time begin */
void st_skip(struct st_call *call);
void st_select_early(struct st_call *call, int op);
bool st_site_skipped(const struct st_call *call); /* under the lock */
void st_site_defined(uint64_t signature, const char *const *frames, size_t n);

/* Each skips the call unless it is wanted; they are called after the early selection. A call on no communicator is on none
 * that is wanted. */
void st_select_comm(struct st_call *call, MPI_Comm comm);
void st_select_win(struct st_call *call, MPI_Win win);
void st_select_file(struct st_call *call, MPI_File file);
void st_select_size(struct st_call *call, int64_t nbytes);
static inline bool st_by_comm(const struct st_call *call) { return st_selection.by_comm && call->on; }
static inline bool st_by_size(const struct st_call *call) { return st_selection.by_size && call->on; }
int64_t st_moved(int64_t count, MPI_Datatype type); /* bytes; 0 where nothing is known */
bool st_comm_chosen(struct st_comm *info, MPI_Comm comm);

/* What a call refers to decides. */
void st_follow_requests(struct st_call *call, const MPI_Request *requests, int64_t n);
void st_follow_request(struct st_call *call, MPI_Request request);
void st_follow_message(struct st_call *call);
void st_follow_begin(struct st_call *call, MPI_File file);
void st_begun(struct st_call *call, MPI_File file);

#endif
