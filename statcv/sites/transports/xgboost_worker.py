"""What XGBoost does in a process of its own: serve the sites, or grow trees for one.

The process is started by its path and imports nothing of this package. Its first line
of input says what is asked, in JSON; the records of a site follow as arrays. It writes
lines of JSON: what it has reached, and the trees at the end. To each further byte of
input it answers that it is alive, whatever XGBoost waits for. When its input is closed,
it ends, so that none is left when the process that started it is gone.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import threading
from typing import Any

# XGBoost would import these, if they are installed, and needs none of them here.
UNUSED = ("sklearn", "pandas", "pyarrow", "cudf", "dask")


ONE_AT_A_TIME = threading.Lock()


def tell(what: str, **more: Any) -> None:
    """Write one line."""
    with ONE_AT_A_TIME:
        sys.stdout.write(json.dumps({"is": what, **more}) + "\n")
        sys.stdout.flush()


def follow_input() -> None:
    """Answer each byte of input, and end the process as soon as it is closed."""

    def wait() -> None:
        while os.read(0, 1):
            tell("alive")
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def serve(asked: dict[str, Any]) -> None:
    """Run the server until the process is ended."""
    import xgboost.federated

    follow_input()
    folder = asked["certificates"]
    tell("serving")
    xgboost.federated.run_federated_server(
        asked["sites"],
        asked["port"],
        server_key_path=os.path.join(folder, "server.key"),
        server_cert_path=os.path.join(folder, "server.crt"),
        client_cert_path=os.path.join(folder, "rootCA.pem"),
    )


def grow(asked: dict[str, Any]) -> None:
    """Grow the trees of all fits together with the other sites."""
    import numpy as np
    import xgboost
    from xgboost import collective

    bins, y, training = (
        np.load(io.BytesIO(sys.stdin.buffer.read(size)), allow_pickle=False)
        for size in asked["arrays"]
    )
    follow_input()
    # All matrices take their bins from one that has each bin of each column, so that
    # nothing is exchanged to find them; they are made before there is a connection.
    numbers = np.array(asked["bins"])
    every = np.minimum(np.arange(numbers.max())[:, None], numbers - 1)
    most = {"max_bin": asked["parameters"]["max_bin"], "nthread": 1}
    agreed = xgboost.QuantileDMatrix(
        every.astype(np.float32), np.zeros(len(every)), **most
    )
    values = bins.astype(np.float32)
    matrices = [
        xgboost.QuantileDMatrix(values[own], y[own], ref=agreed, **most)
        for own in training
    ]
    folder = asked["certificates"]
    tell("here")
    with collective.CommunicatorContext(
        dmlc_communicator="federated",
        federated_server_address=asked["address"],
        federated_world_size=asked["sites"],
        federated_rank=asked["rank"],
        federated_server_cert_path=os.path.join(folder, "rootCA.pem"),
        federated_client_key_path=os.path.join(folder, "client.key"),
        federated_client_cert_path=os.path.join(folder, "client.crt"),
    ):
        collective.allreduce(np.zeros(1), collective.Op.SUM)
        tell("together")
        trees = []
        for matrix in matrices:
            booster = xgboost.Booster(asked["parameters"], [matrix])
            for number in range(asked["rounds"]):
                booster.update(matrix, number)
                tell("tree")
            trees.append(bytes(booster.save_raw("ubj")))
        collective.allreduce(np.zeros(1), collective.Op.SUM)
        tell("grown", trees=[base64.b64encode(one).decode() for one in trees])


def main() -> None:
    """Do what the first line of input asks."""
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]
    asked = json.loads(sys.stdin.buffer.readline())
    try:
        {"serve": serve, "grow": grow}[asked["do"]](asked)
    except Exception as error:
        tell("failed", why=f"{type(error).__name__}: {str(error).splitlines()[0]}")
        sys.stdout.flush()
        os._exit(2)  # without XGBoost's farewell, which would wait for the others


if __name__ == "__main__":
    main()
