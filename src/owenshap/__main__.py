"""`python -m owenshap` is the command `owenshap`."""

from owenshap.command import main

if __name__ == "__main__":
    main()
