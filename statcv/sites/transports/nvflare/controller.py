"""What NVFLARE runs at the server: it carries messages, and adds up the answers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable

from statcv.errors import SiteError, StatcvError, listed
from statcv.sites.coordinator import Coordinator
from statcv.sites.messages import Message
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.nvflare.answers import OUTCOME, Answers
from statcv.sites.transports.nvflare.home import PLAN, write
from statcv.sites.transports.nvflare.names import MESSAGE, TASK

LONGEST: Final = 3600  # seconds that a site may take to answer
SOON: Final = 2.0  # seconds in which a process that is there says so
NOT_THERE: Final = (ReturnCode.COMMUNICATION_ERROR, ReturnCode.MODEL_UNRECOGNIZED)
AGAIN: Final = "the run goes on from there when it is begun again with all sites."
PERIOD: Final = 0.05  # seconds between looks at what has arrived


class SitesController(Controller):  # type: ignore[misc]
    """The coordinator of statcv under NVFLARE.

    The plan is a file of the job, which goes to the server alone; sites have their own.
    Answers are written to a file of the job as they arrive.
    """

    def __init__(self) -> None:
        super().__init__(task_check_period=PERIOD)
        self._lock = threading.Lock()
        self._replies: dict[str, bytes] = {}
        self._lost = ""

    def start_controller(self, fl_ctx: Any) -> None:
        """Read the plan."""
        job, engine = fl_ctx.get_job_id(), fl_ctx.get_engine()
        place = engine.get_workspace()
        text = (Path(place.get_app_config_dir(job)) / PLAN).read_text()
        self.coordinator = Coordinator(SitesPlan.from_json(text))
        self.folder = Path(place.get_run_dir(job))
        self.sites = sorted(one.name for one in engine.get_clients())

    def stop_controller(self, fl_ctx: Any) -> None:
        """Do nothing: all files are written."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Go round after round until everything is known, or say why not."""
        try:
            answers = Answers(self.folder)
            message = self.coordinator.start()
            while not self.coordinator.ended:
                replies = self._ask(message, abort_signal, fl_ctx)
                answers.add(replies)
                message = self.coordinator.step(replies)
            self._ask(message, abort_signal, fl_ctx)
            why = ""
        except StatcvError as error:
            why = str(error)
        write(self.folder / OUTCOME, why.encode())
        if why:
            self.system_panic(why, fl_ctx)

    def _ask(self, message: bytes, abort_signal: Any, fl_ctx: Any) -> list[bytes]:
        """Send a message to all sites, and return their answers in order."""
        self._replies = {}
        data = Shareable()
        data[MESSAGE] = message
        task = Task(TASK, data, timeout=LONGEST, result_received_cb=self._receive)
        self.broadcast_and_wait(
            task,
            fl_ctx,
            targets=self.sites,
            min_responses=len(self.sites),
            abort_signal=abort_signal,
        )
        absent = [name for name in self.sites if name not in self._replies]
        if self._lost:
            raise SiteError(self._lost)
        if absent and abort_signal.triggered:
            raise SiteError(
                f"site {listed(self._silent(absent, fl_ctx))} dropped out, or the run "
                f"was stopped before it had answered; {AGAIN}"
            )
        if absent:
            raise SiteError(
                f"site {listed(absent)} did not answer in {LONGEST} seconds; {AGAIN}"
            )
        return [self._replies[name] for name in self.sites]

    def _silent(self, absent: list[str], fl_ctx: Any) -> list[str]:
        """Return those sites whose process is not there; all if every one is."""
        told = fl_ctx.get_engine().send_aux_request(
            targets=absent,
            topic="statcv.there",  # to which a process that is there objects
            request=Shareable(),
            timeout=SOON,
            fl_ctx=fl_ctx,
            optional=True,
        )
        print('THERE', {k: v.get_return_code() for k,v in told.items()}, flush=True)
        there = [
            name
            for name, reply in told.items()
            if reply.get_return_code() not in NOT_THERE
        ]
        return [name for name in absent if name not in there] or absent

    def _receive(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        name, result = client_task.client.name, client_task.result
        reply = result.get(MESSAGE) if isinstance(result, Shareable) else None
        if result.get_return_code() != ReturnCode.OK or not isinstance(reply, bytes):
            self._stop(
                f"site {name} sent no answer ({result.get_return_code()}); its log "
                "says why.",
                client_task.task,
                fl_ctx,
            )
            return
        try:
            said = Message.of(reply).header.get("site")
        except StatcvError as error:
            self._stop(f"site {name}: {error}", client_task.task, fl_ctx)
            return
        if said != name:
            self._stop(
                f"site {name} answers under another name than its certificate's.",
                client_task.task,
                fl_ctx,
            )
            return
        with self._lock:
            self._replies[name] = reply
        client_task.result = None

    def _stop(self, why: str, task: Any, fl_ctx: Any) -> None:
        with self._lock:
            self._lost = self._lost or why
        self.cancel_task(task, fl_ctx=fl_ctx)

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Stop at once when a site drops out."""
        if event_type == EventType.CLIENT_DISCONNECTED:
            name = fl_ctx.get_prop(FLContextKey.DISCONNECTED_CLIENT_NAME)
            with self._lock:
                self._lost = self._lost or f"site {name} dropped out; {AGAIN}"
            self.cancel_all_tasks(fl_ctx=fl_ctx)

    def process_result_of_unknown_task(
        self,
        client: Any,
        task_name: str,
        client_task_id: str,
        result: Any,
        fl_ctx: Any,
    ) -> None:
        """Drop an answer that came after its task had ended."""
