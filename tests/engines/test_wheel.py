"""The wheel in an environment of its own, run as the container runs it, up to a first decision."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
CONTAINER = re.sub(r"\\\n", " ", (ROOT / "deploy" / "Containerfile").read_text("utf-8"))
USER = "65532"

# All but the data folder and /tmp is read-only, as with `podman run --read-only --tmpfs /tmp`.
READ_ONLY = """set -e
mount --make-rprivate /
mount --bind "$DATA" "$DATA"
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -o remount,bind,ro /
cd "$DATA"
exec setpriv $AS --no-new-privs --bounding-set -all --inh-caps -all "$@"
"""


def pip(program: Path, *arguments: str) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--constraint", "constraints.txt"]
    subprocess.run([program, "-m", "pip", "install", *options, *arguments], check=True, cwd=ROOT)


@pytest.fixture(scope="module")
def installed() -> Iterator[tuple[Path, Path]]:
    """A folder with an environment that has what the wheel depends on, and the wheel."""
    # Not in /tmp, which is another one in the container.
    folder = Path(tempfile.mkdtemp(prefix="bascule-wheel-", dir="/var/tmp"))
    folder.chmod(0o755)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), "."]
    subprocess.run(build, check=True, cwd=ROOT)
    (wheel,) = folder.glob("bascule-*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    program = folder / "venv" / "bin" / "python"
    pip(program, f"{wheel}[service]")
    subprocess.run([program, "-m", "pip", "uninstall", "-q", "-y", "bascule"], check=True)
    (folder / "data").mkdir()
    yield folder, wheel
    shutil.rmtree(folder)


class Container:
    """Commands as the container runs them: its variables, its user, and a read-only root."""

    def __init__(self, folder: Path, port: int) -> None:
        names = re.search(r"^ENV (.*)$", CONTAINER, re.MULTILINE)
        assert names is not None
        pairs = (pair.split("=", 1) for pair in names[1].split())
        path = f"{folder / 'venv' / 'bin'}:/usr/bin:/bin"
        self.data = folder / "data"
        self.environment = {name: value for name, value in pairs if name != "PATH"} | {
            "PATH": path,
            "BASCULE_STORE": str(self.data / "bascule.db"),
            "BASCULE_PORT": str(port),
            "DATA": str(self.data),
        }
        is_root = os.geteuid() == 0 and shutil.which("unshare") and shutil.which("setpriv")
        self.is_read_only = bool(
            is_root and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0
        )
        self.prefix: list[str] = []
        if self.is_read_only:
            self.prefix = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh"]
            # Another user, where that one can reach the interpreter.
            home = Path(sys.base_prefix).resolve()
            if all(one.stat().st_mode & 0o001 for one in (home, *home.parents)):
                user = f"--reuid {USER} --regid {USER} --clear-groups"
                self.environment["AS"] = user
                os.chown(self.data, int(USER), int(USER))

    def run(self, *command: str) -> str:
        """Run a command to its end, and return what it printed."""
        done = self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed, _ = done.communicate(timeout=60)
        assert done.returncode == 0, printed
        return str(printed)

    def start(self, *command: str, **more: object) -> subprocess.Popen[str]:
        """Start a command."""
        given: dict[str, object] = {"env": self.environment, "text": True, "cwd": self.data, **more}
        return subprocess.Popen([*self.prefix, *command], **given)  # type: ignore[call-overload,no-any-return]

    def is_healthy(self) -> bool:
        """Ask as the health check of the Containerfile does."""
        check = re.search(r"HEALTHCHECK .* CMD (\[.*\])$", CONTAINER, re.MULTILINE)
        assert check is not None
        asked = self.start(*yaml.safe_load(check[1]), stderr=subprocess.DEVNULL)
        return asked.wait(timeout=60) == 0

    def _listens(self) -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", int(self.environment["BASCULE_PORT"]))) == 0

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run the service until the block ends; it has to leave by itself."""
        service = self.start("bascule", "serve", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            while not (self._listens() and self.is_healthy()):
                assert service.poll() is None
                time.sleep(0.1)
            yield
            service.terminate()
            assert service.wait(timeout=40) == 0
        finally:
            service.kill()
            service.communicate()


def test_from_the_wheel_to_the_first_decision_within_a_minute(
    installed: tuple[Path, Path],
) -> None:
    """Timed: installing the wheel, a key, the service, and a test over HTTP to its decision.

    What the wheel depends on is installed before. 10 % of the units buy in one arm and 30 % in the
    other, which takes some 200 units.
    """
    folder, wheel = installed
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    container, chance = Container(folder, port), random.Random(0)
    began, spent = time.monotonic(), _spent()
    pip(folder / "venv" / "bin" / "python", "--no-deps", str(wheel))
    (key,) = re.findall(r"bsc_\S+", container.run("bascule", "key", "create", "--role", "admin"))
    headers = {"Authorization": f"Bearer {key}"}
    design = {
        "arms": ["control", "green"],
        "outcome": {"kind": "bernoulli"},
        "rule": {"kind": "tilt", "tilt": 3},
        "reports": "always",
    }
    url = f"http://127.0.0.1:{port}/v1/experiments"
    with (
        container.serving(),
        httpx.Client(headers=headers, trust_env=False, timeout=30) as client,
    ):
        started = time.monotonic()
        client.post(url, json={"name": "button", "design": design}).raise_for_status()
        outcomes: list[dict[str, object]] = []
        for unit in range(20_000):
            name = f"visitor-{unit}"
            told = client.post(f"{url}/button/assign", json={"unit": name}).json()
            bought = chance.random() < (0.3 if told["arm"] == "green" else 0.1)
            outcomes.append({"unit": name, "value": int(bought)})
            if len(outcomes) < 20:
                continue
            sent = client.post(f"{url}/button/outcomes", json={"outcomes": outcomes})
            assert all(receipt["accepted"] for receipt in sent.json()["outcomes"])
            outcomes = []
            status = client.get(f"{url}/button/status").json()
            if status["decision"] is not None:
                break
    took, ran = time.monotonic() - began, time.monotonic() - started
    print(
        f"{took:.1f} s from the wheel, {ran:.1f} s of them the test, {unit:,} units; "
        f"{_spent() - spent:.1f} s of processor time"
    )
    assert status["decision"]["name"] == "green"
    assert took < 60
    assert [file.name for file in container.data.iterdir()] == ["bascule.db"]
    if container.is_read_only:
        with pytest.raises(AssertionError, match="Read-only file system"):
            container.run("touch", str(folder / "not-here"))


def _spent() -> float:
    """Return the processor time of this program and of those that it has waited for."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system
