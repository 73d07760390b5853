"""`parse_llms.py FILE`: the output of the parser by the author of llms.txt, as JSON."""

import json
import sys
from pathlib import Path

from llms_txt import parse_llms_file

sys.stdout.write(json.dumps(parse_llms_file(Path(sys.argv[1]).read_text()), default=list))
