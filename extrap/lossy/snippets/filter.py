def apply(*a): pass
