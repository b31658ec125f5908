"""The context file of a session: written before a request, read back when a call ends.

What a call changed lands as one batch; what was changed outside a call is declined, and whatever
was refused is written over. Whether something was changed is known by the digests of what was
written, which the session's state keeps. Specification: DESIGN section 8, seed 004.
"""

from __future__ import annotations

from collections.abc import Callable

from compactor.core.errors import EditError, StoreError
from compactor.loop import loop
from compactor.session import context_file
from compactor.session.editing import Edited, Editor
from compactor.session.kept import Kept


class ContextFile:
    """The file of one session. Not thread-safe: `Session` locks.

    Args:
        kept: what the session knows.
        session: its name, for the first line.
        editor: makes the edits.
        parent: where its folder is made; None takes the system's for temporary files.
    """

    def __init__(
        self, kept: Kept, session: str, editor: Callable[[], Editor], parent: str | None
    ) -> None:
        self._kept = kept
        self._session = session
        self._editor = editor
        self._parent = parent
        self._is_written = False

    def path(self) -> str:
        """Where the file lies, its folder made if need be.

        Raises:
            StoreError: `store.unwritable`.
        """
        return context_file.path_in(self._folder())

    def write(self) -> str:
        """Write the file before a request. A change that no call made is recorded as declined.

        Returns:
            its path.

        Raises:
            StoreError: `store.unwritable`.
        """
        self._folder()
        if self._is_known() and not self._is_untouched():
            self._editor().decline("edit.outside_call")
        return self._put()

    def answer(self) -> str:
        """What a call that has ended did to the file, for the model; "" mostly."""
        self._kept.refresh()
        if not self._is_known() or self._is_untouched():
            return ""
        texts = loop().editing
        try:
            edited = self.apply(None, during_call=True)
        except EditError as error:
            form = texts.refused if self._is_untouched() else texts.lost
            return form.format(why=error.message)
        return texts.applied.format(receipt=edited.text) if edited.receipt else ""

    def apply(self, text: str | None, *, during_call: bool) -> Edited:
        """See `Session.apply_file`."""
        try:
            if text is None:
                text = context_file.read(self._folder())
            if during_call:
                edited = self._editor().apply_file(text, self._session)
            elif self._is_ours(text):
                edited = Edited("", None)
            else:
                raise EditError(
                    "the context file was changed outside a call",
                    code="edit.outside_call",
                    path="file",
                )
        except EditError as error:
            if error.code == "edit.outside_call" or text is None:
                self._editor().decline(error.code)
            self._put_anew()
            raise
        if edited.receipt is not None or not self._is_ours(text):
            self._put_anew()
        return edited

    def remove(self) -> None:
        """Remove the file with its folder."""
        if self._kept.state.folder:
            context_file.remove(self._kept.state.folder)

    def _folder(self) -> str:
        kept = self._kept
        if not kept.state.folder:
            folder = context_file.new_folder(self._parent)
            kept.write(lambda tx: kept.put(tx, kept.state.filed(folder)))
        return kept.state.folder

    def _is_known(self) -> bool:
        """Whether the file was ever written, and lies there as far as another process knows."""
        state = self._kept.state
        return bool(state.written) and (self._is_written or context_file.exists(state.folder))

    def _is_untouched(self) -> bool:
        """Whether the file lies there as it was written."""
        try:
            return self._is_ours(context_file.read(self._kept.state.folder))
        except EditError:
            return False

    def _is_ours(self, text: str) -> bool:
        """Whether a text is what was written last.

        A process that ended while it wrote may have left the file as it was before.
        """
        written = self._kept.state.written
        return context_file.digest(text) in (written[:1] if self._is_written else written)

    def _put(self) -> str:
        """Write the file as the view stands."""
        kept, text = self._kept, self._editor().file(self._session)
        digest = context_file.digest(text)
        if kept.state.written[:1] != (digest,):
            kept.write(lambda tx: kept.put(tx, kept.state.writing(digest)))
        path = context_file.write(kept.state.folder, text)
        self._is_written = True
        return path

    def _put_anew(self) -> None:
        """The same after a call; where it cannot be, the next request says so."""
        try:
            self._put()
        except StoreError as error:
            if error.code != "store.unwritable":
                raise
