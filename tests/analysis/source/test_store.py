"""Logs in an object store: a server that speaks as much of S3 as reading takes, on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

import bascule as bs

ROWS = [f"{i},{'ab'[i % 2]},{i // 2 % 3 % 2},2026-01-{1 + i // 60:02}" for i in range(600)]
HEAD = "unit,arm,value,time"


class Bucket(BaseHTTPRequestHandler):
    """Serve the files of a folder as objects, to those who sign with the key of Ann."""

    folder: Path

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        if "Credential=ann/" not in self.headers.get("Authorization", ""):
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        path = self.folder / unquote(parts.path).strip("/")
        if "list-type" in query:
            prefix = query.get("prefix", [""])[0]
            files = sorted(str(f.relative_to(path)) for f in path.rglob("*") if f.is_file())
            keys = [key for key in files if key.startswith(prefix)]
            found = "".join(
                f"<Contents><Key>{key}</Key><Size>{(path / key).stat().st_size}</Size></Contents>"
                for key in keys
            )
            count = f"<KeyCount>{len(keys)}</KeyCount><IsTruncated>false</IsTruncated>"
            text = f"<ListBucketResult>{count}{found}</ListBucketResult>"
            return self.answer(200, text.encode())
        if not path.is_file() and (path.parent != self.folder or not path.exists()):
            # A folder is no object, but a bucket is there.
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        data = path.read_bytes() if path.is_file() else b""
        if "Range" in self.headers:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            return self.answer(206, data[int(first) : int(last) + 1])
        return self.answer(200, data)

    def answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The part of an address that says where the store is."""
    import pyarrow.csv
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("store")
    (folder / "logs" / "csv").mkdir(parents=True)
    (folder / "logs" / "parquet").mkdir()
    for part in (0, 1):
        rows = ROWS[300 * part : 300 * part + 300] + (
            ["x9,a,oops,2026-01-01", "9,b"] if part else []
        )
        path = folder / "logs" / "csv" / f"{part}.csv"
        path.write_text("\n".join([HEAD, *rows, ""]))
        clean = folder / f"{part}.csv"
        clean.write_text("\n".join([HEAD, *ROWS[300 * part : 300 * part + 300], ""]))
        table = pyarrow.csv.read_csv(clean)
        pyarrow.parquet.write_table(table, folder / "logs" / "parquet" / f"{part}.parquet")
    Bucket.folder = folder
    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=here"
        server.shutdown()


def test_parquet_files_are_scanned_and_text_is_checked_line_by_line(store: str) -> None:
    whole = bs.analyze(f"s3://ann:geheim@logs/parquet/{store}", looks="now")
    assert (whole.units, whole.excluded) == (600, {})
    assert whole.reading.log == "s3://logs/parquet/"
    assert bs.analyze(f"s3://ann:geheim@logs/parquet/1.parquet{store}", looks="now").units == 300
    text = bs.analyze(f"s3://ann:geheim@logs/csv{store}", looks="now")
    assert text.arms == whole.arms
    assert text.excluded == {"value not a number": 1, "line with too few or too many columns": 1}


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("ann:geheim@logs/none.parquet", "there is no file s3://logs/none.parquet"),
        ("ann:geheim@other/1.parquet", "there is no file s3://other/1.parquet"),
        ("eve:geheim@logs/parquet/1.parquet", "cannot read s3://logs/parquet/1.parquet: "),
        (
            "ann:geheim@logs",
            "must have files of one form, Parquet, CSV or JSON (it has 2 csv, 2 parquet)",
        ),
    ],
    ids=["no file", "no bucket", "no access", "two forms"],
)
def test_what_cannot_be_read_is_said_without_the_key(place: str, line: str, store: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(f"s3://{place}{store}")
    assert line in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)
