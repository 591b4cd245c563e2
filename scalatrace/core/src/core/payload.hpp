/* payload.hpp - the payload of a trace file, as docs/reference/format.md describes it.
 *
 * Unlike a packed core (pack.hpp) it is small, not quick to merge: names become indices, each peer has only its best
 * encoding, ranklists have their nested form, histograms a bounded precision, arrays the forms of arrays.hpp.
 */
#ifndef ST_PAYLOAD_HPP
#define ST_PAYLOAD_HPP

#include <string>

struct st_core;

namespace st {

/* Return the payload of a finished core. */
std::string trace_payload(const st_core &core);

} // namespace st
#endif
