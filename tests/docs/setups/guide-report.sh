# Traces for docs/guide/report.md, under the names that it has.
cp "$TRACES/9.st" s16.st && cp "$TRACES/12.st" s20.st && cp "$TRACES/16.st" s25.st && cp "$TRACES/20.st" s30.st
for name in lu before after; do cp "$TRACES/16.st" $name.st; done
cp "$TRACES/9.st" lu.4.st && cp "$TRACES/12.st" lu.8.st && cp "$TRACES/16.st" lu.16.st  # three numbers of ranks
