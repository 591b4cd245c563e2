/* page.h - make the HTML page of the trace that was just written. */
#ifndef ST_PAGE_H
#define ST_PAGE_H

/* Run `scalatrace report` on the trace at this path where `record --report` asks for it, and wait for its end. Rank 0 calls it.
 * The page of a spawned world is not made. */
void st_page_write(const char *trace);

#endif
