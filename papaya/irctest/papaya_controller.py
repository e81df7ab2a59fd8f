"""A controller of irctest (github.com/progval/irctest) for Papaya.

run.sh names this module to the suite: `pytest --controller papaya_controller`. The program is
found by the variable PAPAYA. Nothing in it is changed for the suite, all is said by settings.
"""

import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Optional, Type

from irctest import patma
from irctest.basecontrollers import BaseServerController, DirectoryBasedController
from irctest.cases import BaseServerTestCase
from irctest.specifications import Capabilities, OptionalBehaviors

PAPAYA = os.environ.get("PAPAYA", "papaya")
NAME = "My.Little.Server"  # the suite asks for it


@functools.cache
def operator() -> str:
    """Returns a data folder with the account of the suite's operator, made once: passwords are slow
    to hash on purpose."""
    data = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    admin = [PAPAYA, "admin", "--data", data, "account"]
    said = {
        "input": "operpassword\n",
        "text": True,
        "check": True,
        "capture_output": True,
    }
    subprocess.run([*admin, "add", "operuser"], **said)
    subprocess.run([*admin, "role", "operuser", "admin"], **said)
    return data


class PapayaController(BaseServerController, DirectoryBasedController):
    software_name = "Papaya"
    supported_sasl_mechanisms = {"PLAIN", "SCRAM-SHA-256"}
    supports_sts = False
    # A message is delivered when it is stored; the suite expects it at once.
    sync_sleep_time = 0.02
    capabilities = frozenset(
        (
            Capabilities.ACCOUNT_NOTIFY,
            Capabilities.ACCOUNT_TAG,
            Capabilities.AWAY_NOTIFY,
            Capabilities.BATCH,
            Capabilities.ECHO_MESSAGE,
            Capabilities.EXTENDED_JOIN,
            Capabilities.EXTENDED_MONITOR,
            Capabilities.LABELED_RESPONSE,
            Capabilities.MESSAGE_REDACTION,
            Capabilities.MESSAGE_TAGS,
            Capabilities.MULTILINE,
            Capabilities.MULTI_PREFIX,
            Capabilities.SERVER_TIME,
            Capabilities.SETNAME,
        )
    )
    optional_behaviors = frozenset(
        (
            OptionalBehaviors.BAN_EXCEPTION_MODE,
            OptionalBehaviors.CAP_REQ_MINUS,
            OptionalBehaviors.ELIST_M,
            OptionalBehaviors.ELIST_N,
            OptionalBehaviors.ELIST_U,
            OptionalBehaviors.INVITE_EXCEPTION_MODE,
            OptionalBehaviors.INVITE_LIST,
            OptionalBehaviors.INVITE_OVERRIDES_LIMIT,
            OptionalBehaviors.METADATA_BEFORE_CONNECT,
            OptionalBehaviors.MULTI_JOIN,
            OptionalBehaviors.MULTI_KICK,
            OptionalBehaviors.MULTI_PRIVMSG,
            OptionalBehaviors.NO_CTCP,
        )
    )
    extban_mute_char = "m"
    isupport = {
        "BOT": "B",
        "CASEMAPPING": "ascii",
        "CHANTYPES": "#",
        "ELIST": "MNU",
        "INVEX": "I",
        "MONITOR": "100",
        "MSGREFTYPES": "timestamp,msgid",
        "PREFIX": "(ov)@+",
        "STATUSMSG": "@+",
        "TARGMAX": patma.ANYSTR,
        "UTF8ONLY": None,
        "WHOX": None,
    }

    def run(
        self,
        hostname: str,
        port: int,
        *,
        password: Optional[str],
        ssl: bool,
        run_services: bool,
        faketime: Optional[str],
        websocket_hostname: Optional[str] = None,
        websocket_port: Optional[int] = None,
    ) -> None:
        assert self.proc is None
        self.create_config()
        assert self.directory
        self.port, self.hostname = port, hostname
        data = self.directory / "data"
        data.mkdir(mode=0o700)
        self.config_path = self.directory / "papaya.toml"
        if password is not None:
            (data / "password").write_text(password + "\n")
        at = f"{hostname}:{port}"
        if websocket_hostname:
            # The suite speaks WebSocket without TLS, which only --plain does.
            command = [PAPAYA, "serve", "--plain", "--name", NAME, "--data", str(data)]
            command += ["--listen", at, "--web"]
            self.command = [*command, f"{websocket_hostname}:{websocket_port}"]
            self._start()
            return
        wanted = self.wanted(at)
        proxied = bool((wanted["server"]["listeners"][at] or {}).get("proxy"))
        modes = wanted["accounts"].get("default-user-modes", "")
        settings = {
            "server": {"name": NAME, "data": str(data), "utf8_only": True},
            "listen": {
                "plain": [] if ssl or proxied else [at],
                "tls": [at] if ssl else [],
                "proxied": [at] if proxied else [],
                "web": [],
            },
            "accounts": {
                "required": False,
                "registration": "open",
                "min_password": 1,
                "scram": True,
                "invisible": "i" in modes,
            },
            # The suite's client takes a PING for the answer that it waits for.
            # The suite's own PBKDF2 has taken 59 s, of the 30 s of the default.
            "limits": {
                "lines_burst": 0,
                "connect_burst": 0,
                "confirm": "1h",
                "register": "10m",
            },
        }
        with self.open_file("papaya.toml") as file:
            for table, keys in settings.items():
                file.write(f"[{table}]\n")
                for key, value in keys.items():
                    # JSON's strings, numbers and lists are TOML, too.
                    file.write(f"{key} = {json.dumps(value)}\n")
        shutil.copytree(operator(), data, dirs_exist_ok=True)
        self.command = [PAPAYA, "serve", "--config", str(self.config_path)]
        self._start()

    def wanted(self, at: str) -> dict[str, dict[str, Any]]:
        """Returns the settings that a test asks for. It says them as changes of Ergo's."""
        settings: dict[str, dict[str, Any]] = {
            "accounts": {"multiclient": {}},
            "server": {"listeners": {at: None}},
        }
        if self.test_config.ergo_config:
            self.test_config.ergo_config(settings)
        return settings

    def _start(self) -> None:
        self.proc = self.execute(self.command)

    def restart(self) -> None:
        self.kill_proc()
        self.port_open = False
        self._start()
        self.wait_for_port()

    def wait_for_services(self) -> None:
        """Accounts are the server's own."""

    def registerUser(
        self,
        case: BaseServerTestCase,
        username: str,
        password: Optional[str] = None,
    ) -> None:
        assert password
        # A server that is starting and the command would both want the data folder.
        self.wait_for_port()
        subprocess.run(
            [
                PAPAYA,
                "admin",
                "--config",
                str(self.config_path),
                "account",
                "add",
                username,
            ],
            input=password + "\n",
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
        )


def get_irctest_controller_class() -> Type[PapayaController]:
    return PapayaController
