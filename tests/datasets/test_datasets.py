"""Shipped and fetched data sets; the only server here is a local one."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.datasets import available_data, fetch_cfs, fetch_ptb, load_data, published
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DownloadError,
    MissingPackageError,
)
from statcv.files import write_whole

PREPARED = os.environ.get("STATCV_DATA", "")
needs_prepared = pytest.mark.skipif(
    not Path(PREPARED, "cfs_vogl.csv").is_file(),
    reason="STATCV_DATA names no folder with the prepared files",
)
needs_source = pytest.mark.skipif(
    not Path(PREPARED, "source", "taxa_data.Rdata").is_file(),
    reason="STATCV_DATA names no folder with source/, the authors' files",
)

PARTS = [
    (fetch_cfs, "data", (80, 40)),
    (fetch_cfs, "predictions", (80, 3)),
    (fetch_ptb, "data", (135, 49)),
    (fetch_ptb, "taxa", (42, 3)),
]
CFS_SOURCE = "individuals_metadata.csv"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Look at no folder of this machine, and reach 127.0.0.1 without a proxy."""
    monkeypatch.delenv("STATCV_DATA", raising=False)
    monkeypatch.setenv("STATCV_CACHE", str(tmp_path / "default-cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class Mirror:
    """A server of bytes by name, which counts what it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.missing_bytes = 0
        self.asked: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.removeprefix("/files/")
                mirror.asked.append(name)
                if name not in mirror.files:
                    self.send_error(404)
                    return
                body = mirror.files[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) - mirror.missing_bytes])

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/files/"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    mirror = Mirror()
    thread = threading.Thread(target=mirror.server.serve_forever, args=(0.05,))
    thread.start()
    yield mirror
    mirror.server.shutdown()
    thread.join()
    mirror.server.server_close()


@pytest.fixture
def source_mirror(mirror: Mirror) -> Mirror:
    mirror.files = {
        path.name: path.read_bytes() for path in Path(PREPARED, "source").iterdir()
    }
    return mirror


@pytest.fixture
def closed_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


class TestLoadData:
    def test_spector_is_statsmodels_own(self) -> None:
        data = load_data("spector")
        assert list(data) == ["GPA", "TUCE", "PSI", "GRADE"]
        assert list(data.index) == list(range(32))
        assert data["GRADE"].dtype == data["PSI"].dtype == np.dtype("int64")
        assert (data["GRADE"].sum(), data["PSI"].sum()) == (11, 14)
        assert data["GPA"].mean() == pytest.approx(3.1171875)

    def test_ehr_has_its_types(self) -> None:
        data = load_data("ehr")
        assert data.shape == (2000, 14)
        assert list(data.index) == list(range(2000))
        assert data["birth_date"].dtype == np.dtype("datetime64[ns]")
        assert all(isinstance(value, str) for value in data["patient_id"])
        assert set(data["site"]) == set("ABCDE")
        assert set(data["y"]) == {0, 1}
        assert not data.isna().any(axis=None)

    def test_nwtco_gives_the_regression_of_r(self) -> None:
        # glm(rel ~ I(age / 12) + factor(stage) + factor(histol), binomial, nwtco,
        #     subset = study == 3)
        data = load_data("nwtco")
        assert data["study"].value_counts().to_dict() == {3: 1857, 4: 2171}
        assert not data.isna().any(axis=None)
        here = data[data["study"] == 3]
        final = scv.cv("relapse ~ age + stage + histology", here, k=2, seed=1).final
        in_r = [-2.9300461, 0.0743410, 0.3716675, 1.0434591, 1.1726764, 1.9215712]
        # ages have four decimals
        np.testing.assert_allclose(final.coefficients, in_r, rtol=1e-4)

    @pytest.mark.parametrize(
        ("name", "formula", "in_r"),
        [
            # coxph(Surv(time, status) ~ factor(trt) + karno + age, veteran)
            (
                "veteran",
                "treatment + karno + age",
                [0.18954644, -0.03444389684, -0.00386441787],
            ),
            # coxph(Surv(rfstime, status) ~ factor(grade) + nodes + hormon, gbsg)
            (
                "gbsg",
                "grade + nodes + hormone",
                [0.774767244, 1.027395629, 0.0553186, -0.337465919],
            ),
        ],
    )
    def test_survival_data_give_the_regressions_of_r(
        self, name: str, formula: str, in_r: list[float]
    ) -> None:
        data = load_data(name)
        assert not data.isna().any(axis=None)
        result = scv.cv(f"Surv(time, status) ~ {formula}", data, k=2, seed=1)
        np.testing.assert_allclose(result.model.coefficients, in_r, rtol=1e-6)

    def test_ehr_holds_each_record_once_a_site(self) -> None:
        data = load_data("ehr")
        person = data.drop(columns="site").drop_duplicates()
        assert len(person) == data["patient_id"].nunique() == 1700
        assert not data.duplicated(["patient_id", "site"]).any()

    @pytest.mark.parametrize("name", ["spector", "ehr", "nwtco", "veteran", "gbsg"])
    def test_each_call_gives_a_fresh_copy(self, name: str) -> None:
        first = load_data(name)
        first.iloc[:, 0] = -1.0
        assert (load_data(name).iloc[:, 0] != -1.0).all()

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("spectr", "Did you mean 'spector'?"),
            ("nothing", "fetch_cfs() and statcv.fetch_ptb()"),
            ("cfs", "statcv.fetch_cfs() downloads it"),
            ("ptb", "statcv.fetch_ptb() downloads it"),
        ],
    )
    def test_unknown_name(self, name: str, words: str) -> None:
        with pytest.raises(ArgumentError) as caught:
            load_data(name)
        assert words in str(caught.value)

    def test_name_of_wrong_type(self) -> None:
        with pytest.raises(ArgumentTypeError, match="not int"):
            load_data(3)  # type: ignore[arg-type]


class TestAvailableData:
    def test_sizes_are_those_of_the_data(self) -> None:
        listed = available_data().set_index("name")
        for name in listed.index[listed["how"] != "download"]:
            assert tuple(listed.loc[name, ["rows", "columns"]]) == load_data(name).shape
            assert listed.loc[name, "outcome"] in load_data(name)

    def test_what_is_here_with_an_empty_cache(self) -> None:
        here = available_data().set_index("name")["here"]
        assert here.to_dict() == {
            "spector": True,
            "ehr": True,
            "nwtco": True,
            "veteran": True,
            "gbsg": True,
            "cfs": False,
            "ptb": False,
        }

    @needs_prepared
    def test_what_is_here_in_the_data_folder(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("STATCV_DATA", PREPARED)
        listed = available_data().set_index("name")
        assert listed["here"].all()
        assert tuple(listed.loc["cfs", ["rows", "columns"]]) == fetch_cfs().shape
        assert tuple(listed.loc["ptb", ["rows", "columns"]]) == fetch_ptb().shape

    @needs_source
    def test_what_is_here_after_a_download(self, source_mirror: Mirror) -> None:
        fetch_cfs(mirror=source_mirror.address)
        assert available_data().set_index("name")["here"]["cfs"]


@needs_prepared
class TestDataFolder:
    @pytest.fixture(autouse=True)
    def _folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("STATCV_DATA", PREPARED)

    @pytest.mark.parametrize(("fetch", "part", "shape"), PARTS)
    def test_shapes(
        self,
        fetch: Callable[..., pd.DataFrame],
        part: str,
        shape: tuple[int, int],
        closed_address: str,
    ) -> None:
        assert fetch(part, mirror=closed_address).shape == shape

    def test_cfs(self) -> None:
        data = fetch_cfs()
        assert data["cfs"].sum() == 40
        assert all(isinstance(value, str) for value in data["id"])
        assert sorted(data["ast"].isna().groupby(data["cfs"]).sum()) == [1, 23]
        assert list(data["id"]) == list(fetch_cfs("predictions")["id"])

    def test_ptb(self) -> None:
        data, taxa = fetch_ptb(), fetch_ptb("taxa")
        assert data["preterm"].sum() == 45
        assert data["weeks_at_collection"].isna().sum() == 8
        assert list(data.columns[7:]) == list(taxa["column"])
        assert np.allclose(data.iloc[:, 7:].sum(axis=1), 1)

    def test_an_absent_folder_file_is_looked_for_elsewhere(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        content = Path(PREPARED, "cfs_vogl.csv").read_bytes()
        (tmp_path / "cfs_vogl.csv").write_bytes(content)
        monkeypatch.setenv("STATCV_DATA", str(tmp_path / "nowhere"))
        assert fetch_cfs(cache_dir=tmp_path).shape == (80, 40)


def test_a_changed_file_in_the_data_folder_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cfs_vogl.csv").write_text("id,cfs\n1,1\n")
    monkeypatch.setenv("STATCV_DATA", str(tmp_path))
    with pytest.raises(DownloadError, match=r"cfs_vogl\.csv is not the prepared file"):
        fetch_cfs()
    assert (tmp_path / "cfs_vogl.csv").exists()
    assert not available_data().set_index("name")["here"]["cfs"]


@needs_source
class TestDownload:
    @pytest.mark.slow
    @pytest.mark.parametrize(("fetch", "part", "shape"), PARTS)
    def test_download_and_conversion_give_the_prepared_bytes(
        self,
        fetch: Callable[..., pd.DataFrame],
        part: str,
        shape: tuple[int, int],
        source_mirror: Mirror,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        data = fetch(part, cache_dir=tmp_path, mirror=source_mirror.address)
        parts = published.CFS if fetch is fetch_cfs else published.PTB
        name = parts[part].name
        assert data.shape == shape
        assert (tmp_path / name).read_bytes() == Path(PREPARED, name).read_bytes()
        assert {path.name for path in tmp_path.iterdir()} == {name, parts[part].source}
        monkeypatch.setenv("STATCV_DATA", PREPARED)
        pd.testing.assert_frame_equal(data, fetch(part))

    @pytest.mark.slow
    def test_it_happens_once(self, source_mirror: Mirror, tmp_path: Path) -> None:
        for part in ("data", "taxa", "data", "taxa"):
            fetch_ptb(part, cache_dir=tmp_path, mirror=source_mirror.address)
        assert source_mirror.asked == ["taxa_data.Rdata"]

    def test_a_spoilt_cache_is_made_anew(
        self, source_mirror: Mirror, tmp_path: Path
    ) -> None:
        (tmp_path / "cfs_vogl.csv").write_text("id\n")
        (tmp_path / CFS_SOURCE).write_text("id\n")
        data = fetch_cfs(cache_dir=tmp_path, mirror=source_mirror.address)
        assert data.shape == (80, 40)

    @pytest.mark.slow
    def test_two_processes_at_once(self, source_mirror: Mirror, tmp_path: Path) -> None:
        code = (
            "from statcv.datasets import fetch_cfs;"
            f"print(fetch_cfs(cache_dir={str(tmp_path)!r},"
            f" mirror={source_mirror.address!r}).shape)"
        )
        processes = [
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
            for _ in range(2)
        ]
        answers = [process.communicate()[0].strip() for process in processes]
        assert answers == [b"(80, 40)", b"(80, 40)"]
        assert len(list(tmp_path.iterdir())) == 2

    def test_it_is_quiet_unless_asked(
        self, source_mirror: Mirror, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        fetch_cfs(cache_dir=tmp_path / "a", mirror=source_mirror.address)
        assert capfd.readouterr() == ("", "")
        level = logging.getLogger("pooch").level
        fetch_cfs(cache_dir=tmp_path / "b", mirror=source_mirror.address, progress=True)
        assert "100%" in capfd.readouterr().err
        assert logging.getLogger("pooch").level == level

    def test_a_missing_reader_of_r_files(
        self, source_mirror: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, "rdata", None)
        with pytest.raises(MissingPackageError, match=r'pip install "statcv\[data\]"'):
            fetch_ptb(cache_dir=tmp_path, mirror=source_mirror.address)
        assert source_mirror.asked == []


class TestFailure:
    def test_no_server(self, closed_address: str, tmp_path: Path) -> None:
        with pytest.raises(DownloadError) as caught:
            fetch_cfs(cache_dir=tmp_path, mirror=closed_address)
        message = str(caught.value)
        assert "the server cannot be reached" in message
        assert "STATCV_DATA to a folder that has cfs_vogl.csv" in message
        assert list(tmp_path.iterdir()) == []

    def test_no_server_and_a_folder_without_the_file(
        self, closed_address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("STATCV_DATA", str(tmp_path))
        with pytest.raises(DownloadError) as caught:
            fetch_cfs("predictions", mirror=closed_address)
        message = str(caught.value)
        assert "the server cannot be reached" in message
        assert f"{str(tmp_path)!r}, which has no cfs_vogl_published" in message

    def test_not_found(self, mirror: Mirror, tmp_path: Path) -> None:
        with pytest.raises(DownloadError, match="the server answered 404"):
            fetch_cfs(cache_dir=tmp_path, mirror=mirror.address)

    def test_wrong_hash(self, mirror: Mirror, tmp_path: Path) -> None:
        mirror.files[CFS_SOURCE] = b"TubeBarcode\nnobody\n"
        with pytest.raises(DownloadError, match="not the file that was published"):
            fetch_cfs(cache_dir=tmp_path, mirror=mirror.address)
        assert list(tmp_path.iterdir()) == []

    def test_truncated_file(self, mirror: Mirror, tmp_path: Path) -> None:
        mirror.files[CFS_SOURCE] = b"0123456789" * 1000
        mirror.missing_bytes = 5000
        with pytest.raises(DownloadError, match="nothing was kept"):
            fetch_cfs(cache_dir=tmp_path, mirror=mirror.address)
        assert list(tmp_path.iterdir()) == []

    def test_silent_server(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(published, "TIMEOUT", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(DownloadError, match="the server was silent"):
                fetch_cfs(cache_dir=tmp_path, mirror=address)

    def test_cache_that_cannot_be_written(self, mirror: Mirror, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(
            DownloadError, match="cannot keep files in the cache folder"
        ):
            fetch_cfs(cache_dir=tmp_path / "file" / "cache", mirror=mirror.address)

    def test_a_half_written_file_is_never_seen(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def fail(draft: Path, target: Path) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            write_whole(tmp_path / "name.csv", b"content")
        assert list(tmp_path.iterdir()) == []


class TestArguments:
    @pytest.mark.parametrize("fetch", [fetch_cfs, fetch_ptb])
    @pytest.mark.parametrize("part", ["Data", "", None])
    def test_unknown_part(
        self, fetch: Callable[..., pd.DataFrame], part: object
    ) -> None:
        with pytest.raises(ArgumentError, match="part must be 'data' or"):
            fetch(part)

    def test_nearest_part(self) -> None:
        with pytest.raises(ArgumentError, match="mean 'predictions'"):
            fetch_cfs("prediction")

    @pytest.mark.parametrize("mirror", ["", "here", "ftp://host/x", "http://"])
    def test_mirror_that_is_no_address(self, mirror: str) -> None:
        with pytest.raises(ArgumentError, match="mirror is an address"):
            fetch_cfs(mirror=mirror)

    def test_wrong_types(self) -> None:
        with pytest.raises(ArgumentTypeError, match="mirror"):
            fetch_cfs(mirror=80)  # type: ignore[arg-type]
        with pytest.raises(ArgumentTypeError, match="cache_dir"):
            fetch_cfs(cache_dir=80)  # type: ignore[arg-type]


def test_sources_are_pinned() -> None:
    files = [*published.CFS.values(), *published.PTB.values()]
    for file in files:
        assert len(file.commit) == 40
        assert file.url() == (
            f"https://raw.githubusercontent.com/{file.repository}/"
            f"{file.commit}/{file.path}"
        )
        assert file.url("http://host/dir/") == f"http://host/dir/{file.source}"
