"""What NVFLARE runs at the server: it carries messages, and adds up the answers."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Final

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply

from statcv.errors import SiteError, StatcvError
from statcv.files import write_whole
from statcv.sites.coordinator import Coordinator
from statcv.sites.messages import SENTENCES, Message
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.homes import OWN
from statcv.sites.transports.nvflare import jobs
from statcv.words import listed

MAX_SECONDS_TO_ANSWER: Final = 3600  # seconds that a site may take to answer
# seconds after which to look whether absent sites are there
SECONDS_BEFORE_LOOKING: Final = 0.5
MAX_SECONDS_TO_GREET: Final = 2.0  # seconds in which a process that is there says so
# seconds after which a process that is not there is given up
MAX_SECONDS_GONE: Final = 1.0
HOW_TO_GO_ON: Final = SENTENCES["run_again"]
SECONDS_BETWEEN_LOOKS: Final = 0.05  # seconds between looks at what has arrived


class SitesController(Controller):  # type: ignore[misc]
    """The coordinator of statcv under NVFLARE.

    The plan is a file of the job, which goes to the server alone; sites have their own.
    Answers are written to a file of the job as they arrive.
    """

    def __init__(self) -> None:
        super().__init__(task_check_period=SECONDS_BETWEEN_LOOKS)
        self._lock = threading.Lock()
        self._replies: dict[str, bytes] = {}
        self._lost = ""
        self._seen: set[str] = set()
        self._left: set[str] = set()
        self._gone: dict[str, float] = {}

    def start_controller(self, fl_ctx: Any) -> None:
        """Read the plan."""
        job, engine = fl_ctx.get_job_id(), fl_ctx.get_engine()
        place = engine.get_workspace()
        text = (Path(place.get_app_config_dir(job)) / jobs.PLAN).read_text()
        self.coordinator = Coordinator(SitesPlan.from_json(text))
        self.folder = Path(place.get_run_dir(job))
        engine.register_aux_message_handler(jobs.LEAVING, self._leave)
        self.sites = sorted(one.name for one in engine.get_clients())

    def stop_controller(self, fl_ctx: Any) -> None:
        """Do nothing: all files are written."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Go round after round until everything is known, or say why not."""
        try:
            (self.folder / jobs.ANSWERS).write_text("")
            message = self.coordinator.start()
            while not self.coordinator.ended:
                replies = self._ask(message, abort_signal, fl_ctx)
                jobs.keep_answers(self.folder / jobs.ANSWERS, replies)
                message = self.coordinator.step(replies)
            self._ask(message, abort_signal, fl_ctx)  # the end, which sites enter
            why = ""
        except StatcvError as error:
            why = str(error)
        write_whole(self.folder / jobs.OUTCOME, why.encode(), mode=OWN)
        if why:
            self.system_panic(why, fl_ctx)

    def _ask(self, message: bytes, abort_signal: Any, fl_ctx: Any) -> list[bytes]:
        """Send a message to all sites, and return their answers in order."""
        self._replies = {}
        task = Task(
            jobs.TASK,
            Shareable({jobs.MESSAGE: message}),
            timeout=MAX_SECONDS_TO_ANSWER,
            after_task_sent_cb=self._note,
            result_received_cb=self._receive,
        )
        self.broadcast(task, fl_ctx, self.sites, min_responses=len(self.sites))
        looked = time.monotonic()
        while task.completion_status is None and not abort_signal.triggered:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            if time.monotonic() - looked > SECONDS_BEFORE_LOOKING:
                self._look()
                looked = time.monotonic()
        absent = self._absent
        if self._lost:
            raise SiteError(self._lost)
        if not absent:
            return [self._replies[name] for name in self.sites]
        late = (
            f"site {listed(absent)} did not answer in {MAX_SECONDS_TO_ANSWER} seconds"
        )
        if not abort_signal.triggered:
            raise SiteError(f"{late}; {HOW_TO_GO_ON}")
        self._look()
        if first := self._first_gone:
            raise SiteError(f"site {listed(first)} dropped out; {HOW_TO_GO_ON}")
        if unseen := [name for name in absent if name not in self._seen]:
            raise SiteError(
                f"site {listed(unseen)} did not begin, or refuses the job; its log "
                "says why."
            )
        raise SiteError(
            f"the run was stopped before site {listed(absent)} had answered; "
            f"{HOW_TO_GO_ON}"
        )

    @property
    def _absent(self) -> list[str]:
        with self._lock:
            return [name for name in self.sites if name not in self._replies]

    def _look(self) -> None:
        """Look which absent sites are there, and give up one that has been gone."""
        absent, now = self._absent, time.monotonic()
        with self._engine.new_context() as own:
            # Ask also when the run is about to stop, to find out whose fault it is.
            own.remove_prop(ReservedKey.RUN_ABORT_SIGNAL, force_removal=True)
            told = self._engine.send_aux_request(
                targets=absent,
                topic=jobs.THERE,
                request=Shareable(),
                timeout=MAX_SECONDS_TO_GREET,
                fl_ctx=own,
                optional=True,
            )
        for name, reply in told.items():
            if reply.get_return_code() != ReturnCode.COMMUNICATION_ERROR:
                self._seen.add(name)
                self._gone.pop(name, None)
            elif name in self._seen - self._left:
                self._gone.setdefault(name, now)
        first = self._first_gone
        if first and now - self._gone[first[0]] > MAX_SECONDS_GONE:
            self._stop(f"site {listed(first)} dropped out; {HOW_TO_GO_ON}")

    @property
    def _first_gone(self) -> list[str]:
        """The sites that were gone first; when one is, NVFLARE ends the others."""
        gone = {n: since for n, since in self._gone.items() if n not in self._left}
        first = min(gone.values(), default=0.0)
        return [name for name, since in gone.items() if since == first]

    def _leave(self, topic: str, request: Any, fl_ctx: Any) -> Any:
        self._left.add(str(fl_ctx.get_peer_context().get_identity_name()))
        return make_reply(ReturnCode.OK)

    def _note(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        self._seen.add(client_task.client.name)

    def _receive(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        name, result = client_task.client.name, client_task.result
        reply = result.get(jobs.MESSAGE) if isinstance(result, Shareable) else None
        if result.get_return_code() != ReturnCode.OK or not isinstance(reply, bytes):
            code = result.get_return_code()
            self._stop(f"site {name} sent no answer ({code}); its log says why.")
            return
        why = f"site {name} answers under another name than its certificate's."
        try:
            own = Message.of(reply).header.get("site") == name
        except StatcvError as error:
            own, why = False, f"site {name}: {error}"
        if not own:
            self._stop(why)
            return
        with self._lock:
            self._replies[name] = reply
        client_task.result = None

    def _stop(self, why: str) -> None:
        with self._lock:
            self._lost = self._lost or why
        self.cancel_all_tasks()

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Stop at once when a site drops out."""
        if event_type == EventType.CLIENT_DISCONNECTED:
            name = fl_ctx.get_prop(FLContextKey.DISCONNECTED_CLIENT_NAME)
            self._stop(f"site {name} dropped out; {HOW_TO_GO_ON}")

    def process_result_of_unknown_task(
        self, client: Any, task_name: str, client_task_id: str, result: Any, fl_ctx: Any
    ) -> None:
        """Drop an answer that came after its task had ended."""
