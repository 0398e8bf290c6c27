"""What can be wrong with a run, one function a symptom: RunView -> Finding or None. See diagnose.py."""
