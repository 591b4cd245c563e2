/* frames.h - register a stack signature: the frames of a call path as text.
 *
 *     "solver.py:80:step"              Python: file, line, function
 *     "program+0x11f4:main"            native: module, offset of the call in it, symbol where one is known
 */
#ifndef ST_FRAMES_H
#define ST_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* Return the name of the signature with these frames, innermost first. Takes the lock. */
uint64_t st_define_frames(const char *const *frames, size_t n);

#endif
