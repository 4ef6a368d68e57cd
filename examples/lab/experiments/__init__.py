"""The experiments of Schlögl, Hofer and Boehme (NeurIPS 2023) on one machine, one module each (docs/lab-experiments.md)."""
