/* policy.h - how precisely the core records parameters, and how it compares call sites. */
#ifndef ST_POLICY_H
#define ST_POLICY_H

/* Hand the user's settings to the core; before the first event. */
void st_policy_start(void);

#endif
