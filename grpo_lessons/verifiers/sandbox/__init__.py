"""Where `verify_code` runs a model's program: `python -S -P grpo_lessons/verifiers/sandbox`, never an import.

`__main__` waits for requests and forks a supervisor for each; `isolation` and `syscalls` take from a process what
a program must not have; `program` runs the program and reports what its calls returned. Standard library only.
"""
