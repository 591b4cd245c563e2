class Snippets: pass
