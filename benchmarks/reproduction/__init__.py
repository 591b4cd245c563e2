"""The dissertation's figures that can be measured on one machine, beside the dissertation's numbers."""
