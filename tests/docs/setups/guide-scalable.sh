# Traces for docs/guide/scalable.md, under the names that it has.
cp "$TRACES/9.st" 16.st && cp "$TRACES/12.st" 20.st && cp "$TRACES/16.st" 25.st && cp "$TRACES/20.st" 30.st
