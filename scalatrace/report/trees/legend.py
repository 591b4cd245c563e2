"""The notation of `show`, for its help and below a tree."""

__all__ = ["LEGEND"]

LEGEND = """\
notation:
  12 × loop of 4         a loop of 12 iterations with four nodes
  ranks 4-15             only these ranks take part
  where x>0              only ranks at such a place on the grid take part
  count=8 (64 B)         eight elements, which are 64 bytes
  dest=north             a neighbour on the grid; in 3-D (x-1, y, z)
  dest=(x, 1-y)          the other one of two ranks along y
  dest=self+1            the own rank plus 1; mod size: of the communicator
  dest=self xor 4        exclusive-or of the own rank with 4
  tag=[3 2 1 …]          values of successive executions; --full shows all
  [5 ..*(1 2)]           5, and then 1, 2 again and again; 3*(1 by 2) is 1 3 5
  {x==0: 1; x>0: 2}      the value of each group of the ranks that take part
  {0-14:2: 1; 1-15:2: 2} the same; 0-14:2 is every second rank from 0 to 14
  ~[32 32]               a mean: the values were recorded as a histogram"""
