"""A file of the form of llms.txt as its author's parser reads it: `parse_llms.py FILE`."""

import json
import sys
from pathlib import Path

from llms_txt import parse_llms_file

sys.stdout.write(json.dumps(parse_llms_file(Path(sys.argv[1]).read_text()), default=list))
