/* wrappers.h - everything that the generated wrappers use; see record.h for the way of a call. */
#ifndef ST_WRAPPERS_H
#define ST_WRAPPERS_H

#include "base/fortran.h"
#include "base/lock.h"
#include "base/state.h"
#include "events/call.h"
#include "events/comms.h"
#include "events/datatypes.h"
#include "events/events.h"
#include "events/selection.h"
#include "events/values.h"
#include "events/world.h"
#include "handles/messages.h"
#include "handles/objects.h"
#include "handles/requests.h"
#include "handles/unique_requests.h"
#include "recording/completion.h"
#include "recording/error_handlers.h"
#include "recording/memory.h"
#include "recording/record.h"

#endif
