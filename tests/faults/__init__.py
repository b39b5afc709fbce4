"""Tests that inject faults into a running service: killed processes, full disks, and slow and hostile clients."""
