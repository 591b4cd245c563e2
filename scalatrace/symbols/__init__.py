"""Source lines of native call sites: a trace with `module+0xoffset`, modules -> `file:line:function`."""
