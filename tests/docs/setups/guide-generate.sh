# A trace for docs/guide/generate.md.
cp "$TRACES/16.st" app.st
