/* lock.c - the mutex behind lock.h. */
#include "base/lock.h"

#include <pthread.h>

#include "base/wait.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool st_lock(void) { return !st_shared.gave_up && st_lock_mutex(&mutex, "the recorder"); }
bool st_lock_to_save(void) { return st_try_mutex(&mutex); }
void st_unlock(void) { pthread_mutex_unlock(&mutex); }
