/* names.h - store the source lines of native call sites in the trace that was just written. */
#ifndef ST_NAMES_H
#define ST_NAMES_H

/* Run `scalatrace resolve` on the trace at this path where `record --resolve` asks for it, and wait for its end. Rank
 * 0 calls it. The trace stays as it is when that fails. */
void st_names_store(const char *trace);

#endif
