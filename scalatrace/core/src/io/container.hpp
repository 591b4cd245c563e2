/* container.hpp - the file around a payload: magic, version, sizes, checksum (docs/reference/format.md).
 *
 *     byte  0       8         10      12              20                 28    32
 *           | magic | version | flags | bytes in file | bytes unpacked   | crc | payload ...
 *                               |
 *                               |-- 1: the payload is deflated
 *                               `-- 2: a part file (core/pack.hpp), else a trace (core/payload.hpp)
 */
#ifndef ST_CONTAINER_HPP
#define ST_CONTAINER_HPP

#include <string>
#include <string_view>

namespace st {

/* Write header and payload to `path`, in one step (files.hpp). `compress`: deflate the payload when zlib can be loaded
 * and the result is smaller. `streams`: the payload has calls of several threads, which earlier versions cannot read. Return the text of the error, "" when it is written. */
std::string write_container(const std::string &path, std::string_view payload, bool part, bool compress,
                            bool streams = false);

/* Return the payload of a part file. Throws FormatError. */
std::string read_container(const std::string &path);

} // namespace st
#endif
