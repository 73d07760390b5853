"""`parse_llms.py FILE`: parse a file with the parser of the author of llms.txt, and print JSON."""

import json
import sys
from pathlib import Path

from llms_txt import parse_llms_file

sys.stdout.write(json.dumps(parse_llms_file(Path(sys.argv[1]).read_text()), default=list))
