"""`python -m autograder.cli`: the command line where no console script is installed."""

from autograder.cli import main

main()
