"""The inter-node merge without the machine: queues of up to 65,536 ranks, merged in one process."""
