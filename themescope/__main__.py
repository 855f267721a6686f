"""``python -m themescope``: start the web server and a worker."""

import sys

from themescope.webapp.start import main

if __name__ == "__main__":
    sys.exit(main())
