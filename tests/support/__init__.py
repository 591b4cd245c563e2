"""What several test folders share: the MPIs of this machine, starting them, the sample programs."""
