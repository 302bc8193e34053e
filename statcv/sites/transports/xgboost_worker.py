"""What XGBoost does in a process of its own: serve the sites, or grow trees for one.

The process is started by its path and imports nothing of this package. The first
message in its pipe says what is asked, with the records of a site as arrays. It sends
what it has reached, and the trees at the end. To each further message it answers that
it is alive, whatever XGBoost waits for. When the pipe is closed, it ends, so that none
is left when the process that started it is gone.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

# XGBoost would import these, if they are installed, and needs none of them here.
UNUSED = ("sklearn", "pandas", "pyarrow", "cudf", "dask")
ONE_AT_A_TIME = threading.Lock()


def tell(pipe: Connection, what: str, **more: Any) -> None:
    """Send one message."""
    with ONE_AT_A_TIME:
        pipe.send({"is": what, **more})


def follow(pipe: Connection) -> None:
    """Answer each message, and end the process as soon as the pipe is closed."""

    def wait() -> None:
        try:
            while pipe.recv():
                tell(pipe, "alive")
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def serve(asked: dict[str, Any], pipe: Connection) -> None:
    """Run the server until the process is ended."""
    import xgboost.federated

    follow(pipe)
    folder = asked["certificates"]
    tell(pipe, "serving")
    xgboost.federated.run_federated_server(
        asked["sites"],
        asked["port"],
        server_key_path=os.path.join(folder, "server.key"),
        server_cert_path=os.path.join(folder, "server.crt"),
        client_cert_path=os.path.join(folder, "rootCA.pem"),
    )


def grow(asked: dict[str, Any], pipe: Connection) -> None:
    """Grow the trees of all fits together with the other sites."""
    import numpy as np
    import xgboost
    from xgboost import collective

    bins, y, training = asked["arrays"]
    follow(pipe)
    # All matrices take their bins from one that has each bin of each column, so that
    # nothing is exchanged to find them; they are made before there is a connection.
    numbers = np.array(asked["bins"])
    every = np.minimum(np.arange(numbers.max())[:, None], numbers - 1)
    most = {"max_bin": asked["parameters"]["max_bin"], "nthread": 1}
    agreed = xgboost.QuantileDMatrix(
        every.astype(np.float32), np.zeros(len(every)), **most
    )
    values = bins.astype(np.float32)
    make = functools.partial(xgboost.QuantileDMatrix, ref=agreed, **most)
    matrices = [make(values[own], y[own]) for own in training]
    folder = asked["certificates"]
    tell(pipe, "here")
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
        tell(pipe, "together")
        trees = []
        for matrix in matrices:
            booster = xgboost.Booster(asked["parameters"], [matrix])
            for number in range(asked["rounds"]):
                booster.update(matrix, number)
                tell(pipe, "tree")
            trees.append(bytes(booster.save_raw("ubj")))
        collective.allreduce(np.zeros(1), collective.Op.SUM)
        tell(pipe, "grown", trees=trees)


def main() -> None:
    """Do what the first message asks."""
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]
    pipe = Connection(int(sys.argv[1]))
    asked = pipe.recv()
    try:
        {"serve": serve, "grow": grow}[asked["do"]](asked, pipe)
    except Exception as error:
        why = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        tell(pipe, "failed", why=why)
        os._exit(2)  # without XGBoost's farewell, which would wait for the others


if __name__ == "__main__":
    main()
