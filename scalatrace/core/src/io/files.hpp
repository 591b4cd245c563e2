/* files.hpp - open files, and output files: regular files are replaced in one step, everything else is written
 * through. */
#ifndef ST_FILES_HPP
#define ST_FILES_HPP

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace st {

struct CloseFile {
    void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

/* Write the pieces, one after the other, as the file `path`; the error's text, "" when it is written.
 *
 *   regular file, or nothing there   temporary file beside it (random name, O_EXCL), renamed to it; permissions and
 *                                    symbolic links to it stay
 *   FIFO, device                     opened and written; a FIFO that no process reads is an error
 *   /dev/stdout, /dev/fd/N           written to the descriptor itself
 *
 * scalatrace/files/ is the same for Python. */
std::string write_file(const std::string &path, std::initializer_list<std::string_view> pieces);

/* Whether the way to a path leads through a symbolic link of another user in a sticky folder where all may write, such
 * as /tmp: its owner could redirect what is written. Linux refuses such links only with fs.protected_symlinks=1.
 * `links`: how many are followed. */
bool has_planted_link(const std::string &path, int links = 40);

} // namespace st

#endif
