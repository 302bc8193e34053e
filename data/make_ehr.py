"""Write ehr.csv, the simulated hospital records that are shipped.

    python data/make_ehr.py [PATH]

writes PATH, by default the file ehr.csv beside this script.
"""

from __future__ import annotations

import sys
from pathlib import Path

from statcv.datasets import simulate_ehr


def ehr_csv() -> str:
    """Return the file's text: six significant digits, LF line ends."""
    records = simulate_ehr(n=1_700, n_duplicates=300, n_sites=5, seed=2020)
    return records.to_csv(
        index=False, float_format="%.6g", date_format="%Y-%m-%d", lineterminator="\n"
    )


def main() -> None:
    """Write the file."""
    here = Path(__file__).with_name("ehr.csv")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    path.write_bytes(ehr_csv().encode())


if __name__ == "__main__":
    main()
