"""The context file of a session: written before requests, read back after calls.

What a call changed in it becomes one batch of edits; what was changed at any other time is
declined, and the file is written anew. `context_file` has the file itself, `editing` the edits.
Specification: DESIGN section 8 (The context file), seed 004.
"""

from __future__ import annotations

from compactor.core.errors import EditError, StoreError
from compactor.loop import loop
from compactor.session import context_file
from compactor.session.editing import Edited, Editor
from compactor.session.kept import Kept


class LiveFile:
    """The file of one session.

    Args:
        kept: what the session knows.
        session: its name, which stands in the file.
        parent: where the file's folder is made; None takes the system's for temporary files.
    """

    def __init__(self, kept: Kept, session: str, parent: str | None) -> None:
        self._kept = kept
        self._session = session
        self._parent = parent
        self._is_written = False

    def path(self) -> str:
        """Where it lies. Its folder is made where there is none."""
        return context_file.path_in(self._folder())

    def remove(self) -> None:
        """Remove it and its folder."""
        if self._kept.state.folder:
            context_file.remove(self._kept.state.folder)

    def write(self, editor: Editor, *, anew: bool = False) -> str:
        """Write it as the view stands.

        Args:
            anew: whatever stands there; else a change that no call made is recorded as declined.

        Returns:
            its path.

        Raises:
            StoreError: `store.unwritable`.
        """
        kept, folder = self._kept, self._folder()
        if not anew and self._is_known() and not self._is_untouched():
            editor.decline("edit.outside_call")
        text = editor.file(self._session)
        digest = context_file.digest(text)
        if kept.state.written[:1] != (digest,):
            kept.write(lambda tx: kept.put(tx, kept.state.writing(digest)))
        path = context_file.write(folder, text)
        self._is_written = True
        return path

    def apply(self, editor: Editor, text: str | None, *, during_call: bool) -> Edited:
        """Make the changes that it shows.

        Args:
            text: of the file; None reads it.
            during_call: False declines them.

        Raises:
            EditError: they were refused; the file is written anew.
        """
        try:
            if text is None:
                text = context_file.read(self._folder())
            if during_call:
                edited = editor.apply_file(text, self._session)
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
                editor.decline(error.code)
            self._renew(editor)
            raise
        if edited.receipt is not None or not self._is_ours(text):
            self._renew(editor)
        return edited

    def answer(self, editor: Editor) -> str:
        """What a call did to it, for the model; "" mostly."""
        self._kept.refresh()
        if not self._is_known() or self._is_untouched():
            return ""
        texts = loop().editing
        try:
            edited = self.apply(editor, None, during_call=True)
        except EditError as error:
            form = texts.refused if self._is_untouched() else texts.lost
            return form.format(why=error.message)
        return texts.applied.format(receipt=edited.text) if edited.receipt else ""

    def _renew(self, editor: Editor) -> None:
        """Write it anew after a call; where it cannot be, the next request says so."""
        try:
            self.write(editor, anew=True)
        except StoreError as error:
            if error.code != "store.unwritable":
                raise

    def _is_known(self) -> bool:
        """Whether it was ever written, and lies there as far as another process knows."""
        state = self._kept.state
        return bool(state.written) and (self._is_written or context_file.exists(state.folder))

    def _is_untouched(self) -> bool:
        """Whether it lies there as it was written."""
        try:
            return self._is_ours(context_file.read(self._kept.state.folder))
        except EditError:
            return False

    def _is_ours(self, text: str) -> bool:
        """Whether it is as it was written last.

        A process that ended while it wrote may have left it as it was before.
        """
        written = self._kept.state.written
        return context_file.digest(text) in (written[:1] if self._is_written else written)

    def _folder(self) -> str:
        """Its directory, made where there is none."""
        if not self._kept.state.folder:
            folder = context_file.new_folder(self._parent)
            self._kept.write(lambda tx: self._kept.put(tx, self._kept.state.filed(folder)))
        return self._kept.state.folder
