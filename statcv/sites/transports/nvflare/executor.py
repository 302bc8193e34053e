"""What NVFLARE runs at a site: it hands messages to the site, and sends its answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from statcv.errors import SiteError, StatcvError
from statcv.sites.messages import refusal
from statcv.sites.transports.nvflare import jobs
from statcv.sites.transports.parties import SiteParty


class SiteExecutor(Executor):  # type: ignore[misc]
    """A site of statcv under NVFLARE; it has no arguments, and runs nothing it is sent.

    The variable ``STATCV_SITE`` on its own machine names the home of the site.
    """

    def __init__(self) -> None:
        super().__init__()
        self._site: SiteParty | None = None

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Say that the process is there when the server asks, and that it ends."""
        if event_type == EventType.START_RUN:
            fl_ctx.get_engine().register_aux_message_handler(jobs.THERE, _there)
        elif event_type == EventType.ABOUT_TO_END_RUN:
            fl_ctx.get_engine().send_aux_request(
                targets=None,
                topic=jobs.LEAVING,
                request=Shareable(),
                timeout=0.0,
                fl_ctx=fl_ctx,
                optional=True,
            )

    def execute(
        self, task_name: str, shareable: Any, fl_ctx: Any, abort_signal: Any
    ) -> Any:
        """Answer one message."""
        message = shareable.get(jobs.MESSAGE)
        if task_name != jobs.TASK or not isinstance(message, bytes):
            return make_reply(ReturnCode.BAD_TASK_DATA)
        name = str(fl_ctx.get_identity_name())
        try:
            if self._site is None:
                self._site = self._open(name)
            answer = self._site.answer(message)
        except Exception as error:  # whose text may hold values
            if os.environ.get("STATCV_TRACEBACK"):
                raise
            why = f"it could not begin ({type(error).__name__})."
            why = str(error) if isinstance(error, StatcvError) else why
            answer = bytes(refusal(name, why))
        return Shareable({jobs.MESSAGE: answer})

    def _open(self, name: str) -> SiteParty:
        home = os.environ.get(jobs.VARIABLE)
        if not home:
            raise SiteError(f"the variable {jobs.VARIABLE} does not name its home.")
        site = jobs.answering(Path(home))
        if site.home.party != name:
            raise SiteError(f"its home belongs to site {site.home.party}.")
        return site


def _there(topic: str, request: Any, fl_ctx: Any) -> Any:
    return make_reply(ReturnCode.OK)
