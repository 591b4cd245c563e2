/* recursion.hpp - fold recursion in stack signatures (Noeth, Ratn, Mueller et al. 2009).
 *
 *     innermost                                      outermost
 *     walk:5  walk:7  walk:7  walk:7  main:3         recorded as  walk:5  walk:7  main:3
 *     a:5  b:9  a:4  b:9  a:4  main:3                recorded as  a:5  b:9  a:4  main:3
 *     walk:5  walk:7  main:3                         nothing is repeated: stays as it is
 *
 * A sequence of frames that directly repeats itself is one sequence. Its innermost copy stays, so the frame of the call
 * itself always does. The result contains no sequence twice in a row.
 */
#ifndef ST_RECURSION_HPP
#define ST_RECURSION_HPP

#include <string>
#include <vector>

namespace st {

/* Remove repeated sequences from the frames, innermost first. At most n * n / 2 comparisons of frames. */
void fold_recursion(std::vector<std::string> &frames);

} // namespace st
#endif
