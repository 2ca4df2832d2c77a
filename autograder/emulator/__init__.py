"""Gradescope on a laptop: what the platform does around `run_autograder`, and what it then shows to whom.

`harness` is the run, to the letter: fresh folders, one log, one killed process, one overwritten file, cuts, codes.
`starters` start the script in a folder or in a container. `advice` names what the platform lets pass although it is
outside the specification. `views` are the pages of staff and students, `history` makes metadata from a class export.
"""

from autograder.emulator.advice import advice
from autograder.emulator.harness import Payload, emulate
from autograder.emulator.history import metadata_from_export, plain_metadata
from autograder.emulator.starters import Box, InContainer, InFolder, Starter
from autograder.emulator.views import Moment, View, view, view_page

__all__ = [
    "Box",
    "InContainer",
    "InFolder",
    "Moment",
    "Payload",
    "Starter",
    "View",
    "advice",
    "emulate",
    "metadata_from_export",
    "plain_metadata",
    "view",
    "view_page",
]
