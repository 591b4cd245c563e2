# Traces and programs for docs/guide/extrapolate.md.
cp "$TRACES"/*.st .
cp 9.st a.st && cp 12.st b.st && cp 16.st c.st && cp 20.st d.st
cp samples/plugins/filter_template.snippets halo.snippets
