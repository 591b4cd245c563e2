/* frames.h - register a stack signature: the frames of a call path as text.
 *
 *     "solver.py:80:step"              Python: file, line, function
 *     "program+0x11f4:main"            native: module, offset of the call in it, symbol where one is known
 */
#ifndef ST_FRAMES_H
#define ST_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* Return the name of the signature with these frames, innermost first. Takes the lock. With `--stacks both`, return
 * the name of a part of a stack, for st_join_frames; 0: out of memory. */
uint64_t st_define_frames(const char *const *frames, size_t n);

/* With `--stacks both`: return the name of the signature of up to `depth` frames, those of the native part followed by
 * those of the Python part; 0 stands for an empty part. */
uint64_t st_join_frames(uint64_t native, uint64_t python, int depth);

#endif
