"""Makes a conversation one that its target takes, and says what that cost.

One pass after another, each with one job and each a function from entries to entries; the rules of
the target (`rules.RULES`) decide, not its name. What cannot be carried is a finding with its seq.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from compactor.core.model import Kind, PartKind
from compactor.formats.convert.notes import Frame
from compactor.formats.convert.pairing import paired
from compactor.formats.convert.rules import ANY
from compactor.formats.convert.spelling import Speller
from compactor.formats.talk import Asked, Medium, Piece, Reasoning, Said, Talk, Text


def fit(talk: Talk, frame: Frame) -> Talk:
    """A conversation as the target takes it. Linear."""
    speller = Speller(frame)
    tools = speller.tools(talk.tools)
    said: Sequence[Said] = [speller.said(each) for each in talk.said]
    if speller.changed_ids:
        message = f"{speller.changed_ids} call ids are others here: the target takes no such id, or"
        frame.notes.report("ids_changed", f"{message} they repeat")
    for step in _STEPS:
        said = list(step(said, frame))
    return talk._replace(said=tuple(said), tools=tools)


def _carried(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """Each entry with what the target has words for; a text stands for what it has none for."""
    for each in said:
        pieces = [made for piece in each.pieces for made in _piece(piece, each, frame)]
        if each.error and not frame.rules.errors:
            message = "that the call failed cannot be said in a result of this format"
            frame.notes.report("error_left_out", message, each.seq)
        yield each._replace(pieces=_without_loose_ends(pieces, each, frame))


def _piece(piece: Piece, said: Said, frame: Frame) -> Iterator[Piece]:
    if isinstance(piece, Reasoning):
        yield from _reasoning(piece, said, frame)
    elif isinstance(piece, Text):
        yield from _text(piece, said, frame)
    elif isinstance(piece, Asked):
        is_foreign = piece.signature and "gemini" not in frame.rules.reasoning
        yield piece._replace(signature="") if is_foreign or not frame.reasoning else piece
    elif isinstance(piece, Medium):
        yield piece if _takes(piece, said.kind, frame) else _instead(piece.kind, said, frame)
    elif piece.native is not None or _counts(piece.kind, said, frame):
        yield piece
    else:
        yield _instead(piece.kind, said, frame)


def _reasoning(piece: Reasoning, said: Said, frame: Frame) -> Iterator[Piece]:
    takers, text = frame.rules.reasoning, piece.text
    is_sealed = bool(piece.seal) and not frame.reasoning
    if takers == ANY and text:
        yield Reasoning(text)
    elif piece.family in takers and piece.family and not is_sealed:
        yield piece
        return
    if takers != ANY or piece.seal or not text:
        message = "reasoning that only the provider of the model takes back"
        frame.notes.report("reasoning_left_out", message, said.seq)


def _text(piece: Text, said: Said, frame: Frame) -> Iterator[Text]:
    signed = piece.signature and frame.reasoning and "gemini" in frame.rules.reasoning
    if piece.signature and not signed:
        message = "reasoning that only the provider of the model takes back"
        frame.notes.report("reasoning_left_out", message, said.seq)
    if signed or (piece.text and (_may_be_blank(said, frame) or piece.text.strip())):
        yield piece if signed else Text(piece.text)
    elif piece.text:
        message = "a text of nothing but white space, which the provider refuses"
        frame.notes.report("text_left_out", message, said.seq)


def _may_be_blank(said: Said, frame: Frame) -> bool:
    return frame.rules.blank[said.kind is Kind.TOOL]


def _takes(medium: Medium, kind: Kind, frame: Frame) -> bool:
    """Whether the target takes a medium there, or behind it where it is a result's."""
    rules = frame.rules
    is_image = medium.kind is PartKind.IMAGE
    if frame.same or (rules.counted and is_image and kind in rules.media):
        return True
    if kind not in rules.media and not (kind is Kind.TOOL and Kind.USER in rules.media):
        return False
    if medium.data:
        return medium.mime.startswith(rules.images if is_image else rules.documents or ("\0",))
    if medium.url and (medium.mime or not rules.typed):
        return (is_image or rules.linked) and medium.url.startswith(rules.addresses or ("\0",))
    return rules.documents == ANY and bool(medium.file_id) and not rules.typed


def _counts(kind: PartKind, said: Said, frame: Frame) -> bool:
    is_image = kind is PartKind.IMAGE
    return frame.rules.counted and is_image and said.kind in frame.rules.media


def _instead(kind: PartKind, said: Said, frame: Frame) -> Text:
    """The text that stands for what is left out."""
    words = frame.words
    nouns = {PartKind.IMAGE: words.image, PartKind.DOCUMENT: words.document}
    what = nouns.get(kind, words.other)[0]
    message = f"a text says that a part ({what}) was here, for which there are no words"
    frame.notes.report("part_left_out", message, said.seq)
    return Text(frame.texts.left_out.format(what=what))


def _without_loose_ends(pieces: list[Piece], said: Said, frame: Frame) -> tuple[Piece, ...]:
    """The pieces without sealed reasoning that nothing follows which it led to."""
    kept: list[Piece] = []
    for piece in reversed(pieces):
        if _is_loose(piece, kept):
            message = "reasoning that led to nothing, which the provider refuses"
            frame.notes.report("reasoning_left_out", message, said.seq)
        else:
            kept.append(piece)
    return tuple(reversed(kept))


def _is_loose(piece: Piece, behind: Sequence[Piece]) -> bool:
    """Whether the API refuses reasoning before what stands behind it, the nearest last.

    OpenAI returns several items of reasoning in a row at times, and takes back only the one before
    what the model said ("was provided without its required following item").
    """
    if not isinstance(piece, Reasoning):
        return False
    if piece.family == "openai":
        return not behind or isinstance(behind[-1], Reasoning)
    return piece.family == "anthropic" and not behind


def _paired(said: Iterable[Said], frame: Frame) -> Iterable[Said]:
    return paired(said, frame) if frame.rules.pairs else said


def _system(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """System messages as the person's where the target has none in mid-conversation."""
    for index, each in enumerate(said):
        if each.kind is not Kind.SYSTEM:
            yield each
        elif not (frame.rules.system or frame.same):
            message = "a system message in mid-conversation is one of the person here"
            frame.notes.report("system_as_user", message, each.seq)
            template = frame.texts.system
            pieces = tuple(
                Text(template.format(text=p.text)) if isinstance(p, Text) else p
                for p in each.pieces
            )
            yield each._replace(kind=Kind.USER, pieces=pieces)
        else:
            if not index and frame.rules.pairs:
                message = "a system message at the very start counts as system prompt here"
                frame.notes.report("system_leads", message, each.seq)
            yield each


def _spoken(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """Without messages that say nothing, and with a text where a document may not be alone."""
    for each in said:
        if not (each.pieces or each.kind is Kind.TOOL or frame.rules.hollow):
            message = "a message that says nothing, which providers refuse"
            frame.notes.report("message_left_out", message, each.seq)
        elif frame.rules.worded and each.kind is Kind.USER and _is_document_alone(each):
            message = "a text stands beside a document, as the provider wants one there"
            frame.notes.report("text_added", message, each.seq)
            yield each._replace(pieces=(Text(frame.texts.document), *each.pieces))
        else:
            yield each


def _is_document_alone(said: Said) -> bool:
    media = [piece for piece in said.pieces if isinstance(piece, Medium)]
    return not said.texts and any(medium.kind is PartKind.DOCUMENT for medium in media)


def _begun(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """With the person first where they must be."""
    for index, each in enumerate(said):
        if not index and frame.rules.begins and each.kind is not Kind.USER:
            message = "a text of the person stands first, as the provider wants one there"
            frame.notes.report("begin_added", message)
            yield Said(Kind.USER, (Text(frame.texts.begins),))
        yield each


def _merged(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """Entries that must share a message as one."""
    group: list[Said] = []
    for each in said:
        if group and not _shares(group[-1], each, frame):
            yield _as_one(group, frame)
            group = []
        group.append(each)
    if group:
        yield _as_one(group, frame)


def _as_one(group: list[Said], frame: Frame) -> Said:
    if len(group) > 1:
        message = "shares a message with what stands beside it, as the roles must change"
        for each in group:
            frame.notes.report("messages_merged", message, each.seq)
    return group[0]._replace(pieces=tuple(piece for each in group for piece in each.pieces))


def _shares(last: Said, following: Said, frame: Frame) -> bool:
    if last.kind is not following.kind or not frame.rules.pairs:
        return False
    is_turn = last.kind is Kind.ASSISTANT
    return is_turn or (last.kind is Kind.USER and frame.rules.alternates)


def _signed(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """With a signature on the first call of every turn, where calls need one."""
    count = 0
    for each in said:
        is_own = frame.same and frame.reasoning
        calls = each.calls if frame.rules.signs and not is_own else []
        if not calls or calls[0].signature:
            yield each
            continue
        count += 1
        made = calls[0]._replace(signature=frame.texts.signature)
        at = each.pieces.index(calls[0])
        yield each._replace(pieces=(*each.pieces[:at], made, *each.pieces[at + 1 :]))
    if count:
        message = f"{count} calls without a signature have one that skips the check"
        frame.notes.report("signature_added", message)


def _said_of_seals(said: Iterable[Said], frame: Frame) -> Iterator[Said]:
    """Says of what is sealed that it may be bound to what stood before it."""
    count = 0
    for each in said:
        seals = (p.seal for p in each.pieces if isinstance(p, Reasoning))
        count += any(seals) and not frame.same
        yield each
    if count:
        message = f"{count} turns have signed reasoning; a model that binds it refuses it where"
        frame.notes.report("reasoning_carried", f"{message} system prompt or tools are not as then")


_Step = Callable[[Iterable[Said], Frame], Iterable[Said]]
_STEPS: tuple[_Step, ...] = (
    *(_carried, _paired, _system, _spoken, _begun, _merged, _signed, _said_of_seals),
)
"""In this order: what is left out decides what is empty, and that decides what shares a message."""
