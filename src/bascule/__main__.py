"""Run the command line: `python -m bascule`."""

from bascule.cli.main import main

if __name__ == "__main__":
    main()
