/* lock.c - the mutex behind lock.h. */
#include "base/lock.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void st_lock(void) { pthread_mutex_lock(&mutex); }
void st_unlock(void) { pthread_mutex_unlock(&mutex); }
